"""One program for every batch and length, from a few recordings."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from highwater._question import Question
from highwater.recording import Recording, Source, load

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from highwater._keywords import FitOptions
    from highwater.results import Fit, Scaled

#: Recordings, alone or with the values of their integers.
Recordings = Union[Sequence[Union[Source, Recording]], Mapping[str, Mapping[str, int]]]


class Program:
    """What hw.fit() has found: the requests of a script as formulas of its integers."""

    def __init__(self, path: str, fitted: Fit, folder: tempfile.TemporaryDirectory[str] | None) -> None:
        self._path = path
        self._fitted = fitted
        self._folder = folder

    @property
    def fitted(self) -> Fit:
        """How well the program gives its recordings again, its formulas, and what differs between the recordings."""
        return self._fitted

    def __repr__(self) -> str:
        return f"highwater.Program({self._path!r})"

    def simulate(self, **values: Any) -> Scaled:
        """The peaks at values of the integers, with a warning for whatever the recordings do not cover.

        Options of the program are keywords beside the integers: gpu, capacity, alloc_conf, steps, find_batch, find.

        >>> program.simulate(batch=64, seq=4096, gpu="h100-80")
        >>> program.simulate(seq=4096, gpu="h100-80", find_batch=True)
        """
        from highwater.results import Scaled

        return Scaled.of(Question("simulate", (), {"from": self._path, **values}, (self._folder,)))

    def at(self, **integers: int) -> Recording:
        """The requests at values of the integers, for whatever is asked of a recording.

        >>> program.at(batch=64, seq=4096).explain(capacity="80GiB")
        """
        return _Requests(self._path, integers, (self._folder,))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program, for `highwater simulate --from`."""
        shutil.copyfile(self._path, path)


class _Requests(Recording):
    """A program at values of its integers, which each question is given."""

    def __init__(self, path: str, integers: Mapping[str, int], held: tuple[Any, ...]) -> None:
        super().__init__(path, held)
        self._at = ",".join(f"{name}={value}" for name, value in integers.items())

    def _question(self, command: str, options: Mapping[str, Any]) -> Question:
        return super()._question(command, {"values": self._at, **options})


def fit(recordings: Recordings, output: str | os.PathLike[str] | None = None, **options: Unpack[FitOptions]) -> Program:
    """Fits one program for every batch and length to a few recordings of a script at small ones.

    >>> program = hw.fit(["b2s512.pickle", "b4s512.pickle", "b2s1024.pickle", "b4s1024.pickle"])
    >>> program.simulate(batch=64, seq=4096).peak.reserved_bytes

    Recordings of `highwater record` know their batch and length; otherwise, or for other integers, give them:

    >>> hw.fit({"a.pickle": {"side": 64}, "b.pickle": {"side": 128}, "c.pickle": {"side": 256}}, output="run.hwp")
    """
    from highwater.results import Fit

    folder = None
    if output is None:
        folder = tempfile.TemporaryDirectory(prefix="highwater-")
        path = os.path.join(folder.name, "run.hwp")
    else:
        path = os.fspath(output)
    names, held = _operands(recordings)
    return Program(path, Fit.of(Question("fit", names, {"output": path, **options}, held)), folder)


def _operands(recordings: Recordings) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """What the command line calls them, and what keeps them alive."""
    if isinstance(recordings, Mapping):
        files = [load(each) for each in recordings]
        values = [":" + ",".join(f"{name}={value}" for name, value in each.items()) for each in recordings.values()]
    else:
        files = [load(each) for each in recordings]
        values = [""] * len(files)
    names = tuple(file.name + value for file, value in zip(files, values))
    return names, tuple(held for file in files for held in file._held)
