"""The pieces of a command as tasks: for a pool of processes, Ray, Dask, or whatever else calls Python functions.

A task is the command line of one shard (`--shard i/N`), and what it comes to are the bytes of the file that the shard
writes, so that tasks, `highwater --shard` and `highwater merge` can be mixed.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from highwater import _native
from highwater._errors import InputError, UsageError
from highwater._option_names import SHARDED
from highwater._options import words
from highwater._question import Question
from highwater._results import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from highwater._keywords import PlanSweepOptions, ScanOptions, SimulateOptions, SweepOptions, ValidateOptions
    from highwater.recording import Recording, Source
    from highwater.results import Scan, Simulate, Sweep, Validate

Answer = TypeVar("Answer", bound=Result)


@dataclasses.dataclass(frozen=True)
class Part(Generic[Answer]):
    """What a task came to: the bytes of a file that `highwater merge` reads. It can be pickled, kept and sent."""

    data: bytes = dataclasses.field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, for `highwater merge`."""
        with open(path, "wb") as file:
            file.write(self.data)


@dataclasses.dataclass(frozen=True)
class Task(Generic[Answer]):
    """Part `number` of `count` of a command's work. It can be pickled, and run wherever highwater and the files are."""

    #: The command line, without what says which part this is.
    arguments: tuple[str, ...]
    #: From 1.
    number: int
    count: int

    def run(self, threads: int = 1) -> Part[Answer]:
        """Carries it out on one core, as pools start one process for each, or on so many. 0: all that the process has."""
        with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
            path = os.path.join(folder, "part")
            _native.call([*self.arguments, f"--shard={self.number}/{self.count}", f"--output={path}"], threads)
            with open(path, "rb") as file:
                return Part(file.read())


@overload
def tasks(command: Literal["scan"], source: str | os.PathLike[str], *, pieces: int,
          **options: Unpack[ScanOptions]) -> list[Task[Scan]]: ...
@overload
def tasks(command: Literal["sweep"], source: Source | Recording, *, pieces: int,
          **options: Unpack[SweepOptions]) -> list[Task[Sweep]]: ...
@overload
def tasks(command: Literal["sweep"], source: None = None, *, pieces: int, model: Any = None,
          **options: Unpack[PlanSweepOptions]) -> list[Task[Sweep]]: ...
@overload
def tasks(command: Literal["simulate"], source: None = None, *, pieces: int, model: Any = None,
          **options: Unpack[SimulateOptions]) -> list[Task[Simulate]]: ...
@overload
def tasks(command: Literal["validate"], source: str | os.PathLike[str] | None = None, *, pieces: int,
          **options: Unpack[ValidateOptions]) -> list[Task[Validate]]: ...


def tasks(command: str, source: Any = None, *, pieces: int, **options: Any) -> list[Task[Any]]:
    """The work of a command in `pieces` parts, which may be carried out anywhere and in any order.

    >>> tasks = hw.tasks("scan", "snapshots/", pieces=64)
    >>> with concurrent.futures.ProcessPoolExecutor() as pool:
    ...     answer = hw.merge(pool.map(hw.Task.run, tasks))

    >>> run = ray.remote(hw.Task.run)
    >>> hw.merge(ray.get([run.remote(task) for task in tasks]))

    `source` and the keywords are those of the function that asks for the whole: `hw.scan`, `hw.sweep` or
    `Recording.sweep`, `hw.simulate` (with `rank="all"`), `hw.validate`. Every worker reads the files by the same names,
    so they have to be where it sees them, and a relative name begins in its folder. More pieces than there is work are
    no mistake: some parts are empty then. Use several for each core, since pieces take unequal time.
    """
    if command not in SHARDED:
        raise UsageError([f"{command}: has no pieces; use one of {', '.join(sorted(SHARDED))}"])
    if not 1 <= pieces <= 1_000_000:
        raise UsageError([f"pieces={pieces}: not a number of parts; use 1 to 1000000"])
    kept = [name for name in ("journal", "resume", "piece_times") if options.get(name)]
    if kept:
        raise UsageError([f"{kept[0]}: is for a run of one process or job, not for tasks; omit it"])
    question = _question(command, source, options)
    if question.held:
        raise InputError(f"{_name(question)}: is in the memory of this process alone; save it as a file, and name that",
                         _name(question), "", "is in the memory of this process alone", "save it as a file, and name that")
    line = (question.command, *words(question.options), "--format=json", *question.inputs)
    return [Task(line, number, pieces) for number in range(1, pieces + 1)]


def merge(parts: Iterable[Part[Answer]]) -> Answer:
    """The answer of the whole command from the parts of all its tasks, in any order.

    The command runs once more and takes the results of its pieces from the parts, so it needs the files that the tasks
    had. An `InputError` names a part that is missing, given twice, or of another run.
    """
    folder = tempfile.TemporaryDirectory(prefix="highwater-")
    paths = []
    for number, part in enumerate(parts, 1):
        paths.append(os.path.join(folder.name, f"part {number}"))
        part.save(paths[-1])
    question = Question("merge", tuple(paths), {}, (folder,))
    data = question.data()
    made: Answer = _class_of(data).made(data, question)
    return made


def _class_of(data: Mapping[str, Any]) -> Any:
    from highwater import results

    return getattr(results, str(data["schema"]).removeprefix("highwater.").partition("/")[0].capitalize())


def _question(command: str, source: Any, options: Mapping[str, Any]) -> Question:
    """What the function that asks for the whole would ask."""
    from highwater.plans import plan_question
    from highwater.recording import load

    if source is None:
        others = {name: value for name, value in options.items() if name != "model"}
        return plan_question(command, options.get("model"), others)
    recording = load(source)
    return Question(command, (recording.name,), options, recording._held)


def _name(question: Question) -> str:
    return question.inputs[0] if question.inputs else str(question.options.get("model", "model"))
