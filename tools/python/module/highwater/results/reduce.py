"""What `highwater reduce` answers; written by make_results.py from tools/schemas/reduce.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items
from highwater.results.shared import FitHeldOutPredicted


@dataclass(frozen=True)
class ReduceProgram(Record):
    """A part of Reduce."""

    when: str
    operations: int
    allocations: int
    requested_bytes: int


@dataclass(frozen=True)
class Reduce(Result):
    """What `highwater reduce --format json` prints."""

    schema: str
    programs: tuple[ReduceProgram, ...]
    subject: str
    device: int
    keep: str
    cause: str | None
    peak: FitHeldOutPredicted
    fragmentation: float
    is_minimal: bool
    programs_tried: int
    operations_tried: int
    output: str | None
    script: str | None
    trust: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "programs": items(ReduceProgram.from_json),
        "peak": FitHeldOutPredicted.from_json,
    }
