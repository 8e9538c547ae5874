"""What `highwater solve` answers; written by make_results.py from tools/schemas/solve.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values


@dataclass(frozen=True)
class SolveFieldTrial(Record):
    """A part of Solve."""

    value: int | str
    fits: bool
    peak_reserved_bytes: int
    refusal: str | None


@dataclass(frozen=True)
class SolveField(Record):
    """A part of Solve."""

    field: str
    asks: str
    answer: int | str | None
    peak_reserved_bytes: int | None
    step: int | None
    next: int | None
    next_outcome: str
    trials: tuple[SolveFieldTrial, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "trials": items(SolveFieldTrial.from_json),
    }


@dataclass(frozen=True)
class SolveFrontier(Record):
    """A part of Solve."""

    checkpoint: str
    batch: int
    recomputation: float
    time: float
    peak_reserved_bytes: int
    fits: bool
    is_efficient: bool


@dataclass(frozen=True)
class Solve(Result):
    """What `highwater solve --format json` prints."""

    schema: str
    fields: tuple[SolveField, ...]
    available_bytes: int | None
    outside_bytes: int
    frontier: tuple[SolveFrontier, ...] | None
    command: str
    plan: dict[str, str | tuple[int, ...] | bool | float | None]
    notes: tuple[Any, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "fields": items(SolveField.from_json),
        "frontier": items(SolveFrontier.from_json),
        "plan": values(plain),
        "notes": items(plain),
    }
