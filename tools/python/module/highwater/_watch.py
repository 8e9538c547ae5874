"""Explains an out of memory where it happens.

PyTorch tells observers of an allocation that fails before it raises torch.OutOfMemoryError
(c10/cuda/CUDACachingAllocator.cpp, attachOutOfMemoryObserver). There the snapshot is written, and
what `explain` says about it goes to standard error.
"""

from __future__ import annotations

import contextlib
import itertools
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
    how long a history PyTorch keeps, `top` the rows of each list that is printed. The memory history is switched on for
    the time being, unless it is on already.

    No file that exists is overwritten: where there is one, the snapshot goes to the next name that is free (oom-2.pickle).
    A script that catches the error and tries a smaller batch may fail many times: the first `keep` failures are written
    and explained, each to a file of its own; the others are counted, which a line says when the first of them happens,
    and another at the end. `files` names what was written, `failures` is how many there were.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, max_entries: int = 1_000_000, top: int = 8, keep: int = 3
    ) -> None:
        self.path = os.fspath(path) if path is not None else _default_path()
        self.max_entries = max_entries
        self.top = top
        self.keep = keep
        self.files: list[str] = []
        self.failures = 0
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
        if self.failures > self.keep:
            _say(f"out of memory {self.failures} times; {self._kept_words()}")

    def __enter__(self) -> watch:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def explain(self) -> None:
        """Writes the snapshot of this moment, and says what it shows; of the first failures only."""
        self.failures += 1
        if self.failures > self.keep:
            if self.failures == self.keep + 1:
                _say(f"out of memory again; {self._kept_words()}, further ones are only counted")
            return
        path = self._written()
        self.files.append(path)
        verdict = load(path).explain(top=self.top)
        taken = "" if path == self.path or self.path in self.files else f" ({self.path} was there already)"
        _say(f"out of memory; the snapshot is in {path}{taken}\n\n{verdict}")

    def _written(self) -> str:
        import torch

        path = _reserved(self.path)
        try:
            torch.cuda.memory._dump_snapshot(path)
        except BaseException:
            os.unlink(path)  # half of it, if anything
            raise
        return path

    def _kept_words(self) -> str:
        return f"the snapshots of the first {self.keep} are in {', '.join(self.files)}" if self.files else "none is kept"


def _say(text: str) -> None:
    print(f"\nhighwater: {text}", file=sys.stderr, flush=True)


def _reserved(path: str) -> str:
    """`path`, or its next number that is free, as a new and empty file: no other process gets the same."""
    stem, extension = os.path.splitext(path)
    for number in itertools.count(1):
        name = path if number == 1 else f"{stem}-{number}{extension}"
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        return name
    raise AssertionError("never reached")


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
