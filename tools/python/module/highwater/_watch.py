"""Explains an out of memory where it happens.

PyTorch tells observers of an allocation that fails before it raises torch.OutOfMemoryError
(c10/cuda/CUDACachingAllocator.cpp, attachOutOfMemoryObserver). There the snapshot is written, and
what `explain` says about it goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType
from typing import Any

from highwater.recording import load

#: Those that are in force; the observer, which PyTorch cannot detach, tells the last one.
_watches: list[watch] = []
_is_attached = False


class watch(contextlib.ContextDecorator):
    """When the GPU's memory runs out within it, writes a snapshot and says on standard error why it ran out.

    >>> with hw.watch("oom.pickle"):
    ...     train()

    It is a decorator as well. torch.OutOfMemoryError is raised as without it. The path is
    highwater-oom.pickle unless given, with the rank in it where there are several; `max_entries` is
    how long a history PyTorch keeps, `top` the rows of each list that is printed. The memory history is switched on for the time being, unless it is on already. Further failures
    go to files of their own (oom-2.pickle); `files` names them all.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, max_entries: int = 1_000_000, top: int = 8
    ) -> None:
        self.path = os.fspath(path) if path is not None else _default_path()
        self.max_entries = max_entries
        self.top = top
        self.files: list[str] = []
        self._switched_on = False

    def start(self) -> None:
        """Begins to watch, where there is no block: in callbacks."""
        import torch

        if self in _watches or not torch.cuda.is_available():
            return
        _attach()
        if not _is_recording():
            torch.cuda.memory._record_memory_history(max_entries=self.max_entries)
            self._switched_on = True
        _watches.append(self)

    def stop(self) -> None:
        """Ends what `start` began."""
        import torch

        if self not in _watches:
            return
        _watches.remove(self)
        if self._switched_on:
            torch.cuda.memory._record_memory_history(enabled=None)
            self._switched_on = False

    def __enter__(self) -> watch:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def explain(self) -> None:
        """Writes the snapshot of this moment, and says what it shows."""
        import torch

        path = self._next_path()
        torch.cuda.memory._dump_snapshot(path)
        self.files.append(path)
        verdict = load(path).explain(top=self.top)
        print(f"\nhighwater: out of memory; the snapshot is in {path}\n\n{verdict}", file=sys.stderr, flush=True)

    def _next_path(self) -> str:
        if not self.files:
            return self.path
        stem, extension = os.path.splitext(self.path)
        return f"{stem}-{len(self.files) + 1}{extension}"


def _default_path() -> str:
    rank = os.environ.get("RANK")
    return "highwater-oom.pickle" if rank is None else f"highwater-oom-rank{rank}.pickle"


def _is_recording() -> bool:
    import torch

    ask: Any = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return bool(ask()) if ask is not None else False


def _attach() -> None:
    global _is_attached
    if not _is_attached:
        import torch

        torch._C._cuda_attach_out_of_memory_observer(_on_out_of_memory)
        _is_attached = True


def _on_out_of_memory(device: int, size: int, device_allocated: int, device_free: int) -> None:
    """Whatever goes wrong here, torch.OutOfMemoryError is what the script sees."""
    if not _watches:
        return
    try:
        _watches[-1].explain()
    except Exception as error:
        print(f"highwater: the out of memory could not be explained: {error}", file=sys.stderr, flush=True)
