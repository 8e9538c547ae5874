"""Memory snapshots and traces, and what one asks of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from highwater import _native
from highwater._question import Question

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from highwater._keywords import (
        AdviseOptions,
        CapturesOptions,
        DiffOptions,
        ExplainOptions,
        ExportOptions,
        InfoOptions,
        ReduceOptions,
        ReplayOptions,
        ReportOptions,
        SweepOptions,
    )
    from highwater.report import Report
    from highwater.results import Advise, Captures, Diff, Explain, Info, Reduce, Replay, Sweep

#: A path, the bytes of a file, or what torch.cuda.memory._snapshot() or memory_snapshot() returned.
Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Mapping[str, Any], Sequence[Any]]

_numbers = itertools.count(1)


class Recording:
    """A snapshot or trace. It is read whenever something is asked of it."""

    def __init__(self, name: str, held: tuple[Any, ...] = ()) -> None:
        self._name = name
        self._held = held

    @property
    def name(self) -> str:
        """The path, or how messages call what is in memory."""
        return self._name

    def __repr__(self) -> str:
        return f"highwater.load({self._name!r})"

    def replay(self, **options: Unpack[ReplayOptions]) -> Replay:
        """Replays every request through the model of the allocator, under any settings.

        >>> hw.load("snapshot.pickle").replay(alloc_conf="expandable_segments:True", capacity="80GiB")
        """
        from highwater.results import Replay

        return Replay.of(self._question("replay", options))

    def explain(self, **options: Unpack[ExplainOptions]) -> Explain:
        """Says why it ran out of memory, who holds the memory, and what would have helped."""
        from highwater.results import Explain

        return Explain.of(self._question("explain", options))

    def advise(self, **options: Unpack[AdviseOptions]) -> Advise:
        """Finds the best allocator settings by replaying under many of them."""
        from highwater.results import Advise

        return Advise.of(self._question("advise", options))

    def sweep(self, **options: Unpack[SweepOptions]) -> Sweep:
        """Replays under every combination of settings and limits.

        >>> recording.sweep(set={"expandable_segments": [False, True], "capacity": ["40GiB", "80GiB"]})
        """
        from highwater.results import Sweep

        return Sweep.of(self._question("sweep", options))

    def info(self, **options: Unpack[InfoOptions]) -> Info:
        """Says what is in the file: devices, events, settings, peaks, truncation, call sites."""
        from highwater.results import Info

        return Info.of(self._question("info", options))

    def diff(self, other: Source | Recording, **options: Unpack[DiffOptions]) -> Diff:
        """Compares the peaks and requests of two runs."""
        from highwater.results import Diff

        second = load(other)
        return Diff.of(Question("diff", (self._name, second._name), options, self._held + second._held))

    def captures(self, **options: Unpack[CapturesOptions]) -> Captures:
        """What the CUDA graphs of the run take in other pools, on other streams and in other orders.

        >>> hw.load("record.pickle").captures(arrange="pools=1+2/3,streams=one")
        """
        from highwater.results import Captures

        return Captures.of(self._question("captures", options))

    def reduce(self, output: str | os.PathLike[str] | None = None, **options: Unpack[ReduceOptions]) -> Reduce:
        """Finds the shortest program that still shows what `keep` names, and writes it to `output` or `script`.

        >>> hw.load("snapshot.pickle").reduce(keep="oom", script="small.py")
        """
        from highwater.results import Reduce

        return Reduce.of(self._question("reduce", options if output is None else {"output": output, **options}))

    def report(self, other: Source | Recording | None = None, **options: Unpack[ReportOptions]) -> Report:
        """The HTML page of the run, or of two side by side; notebooks show it."""
        from highwater.report import Report

        files = [self] if other is None else [self, load(other)]
        held = tuple(each for file in files for each in file._held)
        return Report(Question("report", tuple(file._name for file in files), options, held))

    def export(self, output: str | os.PathLike[str], **options: Unpack[ExportOptions]) -> str:
        """Writes the run, under any settings, for other tools; returns what was written, in words."""
        return self._question("export", {"output": output, **options}).text()

    def _question(self, command: str, options: Mapping[str, Any]) -> Question:
        return Question(command, (self._name,), dict(options), self._held)


def load(source: Source | Recording) -> Recording:
    """A recording from a path, from bytes, or from what torch.cuda.memory._snapshot() returned.

    >>> hw.load("snapshot.pickle")
    >>> hw.load(torch.cuda.memory._snapshot())

    Every format that the program reads is recognised by its content, compressed or not. What is in a
    pickle is never executed. The file is read when something is asked of it.
    """
    if isinstance(source, Recording):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Recording(operand(source))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _hold(bytes(source))
    import pickle

    return _hold(pickle.dumps(source, protocol=4))


def operand(file: str | os.PathLike[str]) -> str:
    """Neither an option nor standard input, whatever the file's name."""
    path = os.fspath(file)
    return os.path.join(".", path) if path.startswith("-") else path


def _hold(data: bytes) -> Recording:
    held = _native.HeldBytes(f"<snapshot {next(_numbers)}>", data)
    return Recording(held.name, (held,))
