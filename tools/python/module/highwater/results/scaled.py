"""What `highwater scaled` answers; written by make_results.py from tools/schemas/scaled.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items
from highwater.results.shared import Budget, FitHeldOutPredicted, OomPool, Trial


@dataclass(frozen=True)
class ScaledCounts(Record):
    """A part of Scaled."""

    allocs: int
    device_alloc: int
    alloc_retries: int
    ooms: int


@dataclass(frozen=True)
class ScaledWarning(Record):
    """A part of Scaled."""

    kind: str
    text: str


@dataclass(frozen=True)
class ScaledStep(Record):
    """A part of Scaled."""

    step: int
    peak: FitHeldOutPredicted

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class ScaledPhase(Record):
    """A part of Scaled."""

    step: int | None
    phase: str
    peak: FitHeldOutPredicted

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class ScaledOom(Record):
    """A part of Scaled."""

    operation: int
    requested_bytes: int
    rounded_bytes: int
    segment_bytes: int
    device_free_bytes: int
    allowed_bytes: None
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int
    largest_free_block_bytes: int
    largest_usable_free_block_bytes: int
    pools: tuple[OomPool, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(OomPool.from_json),
    }


@dataclass(frozen=True)
class ScaledSearch(Record):
    """A part of Scaled."""

    largest: int
    smallest_failing: int
    limit: int
    trials: tuple[Trial, ...]
    integer: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "trials": items(Trial.from_json),
    }


@dataclass(frozen=True)
class Scaled(Result):
    """What `highwater simulate --from RUN.hwp --format json` prints."""

    schema: str
    at: dict[str, int]
    peak: FitHeldOutPredicted
    peak_allocated_in: str
    steps_simulated: int
    counts: ScaledCounts
    verified: bool
    fits: bool
    extent: str
    warnings: tuple[ScaledWarning, ...]
    estimated_range: None
    steps: tuple[ScaledStep, ...]
    phases: tuple[ScaledPhase, ...]
    ooms: tuple[ScaledOom, ...]
    trust: str
    capacity_bytes: int | None = None
    budget: Budget | None = None
    search: ScaledSearch | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
        "counts": ScaledCounts.from_json,
        "warnings": items(ScaledWarning.from_json),
        "steps": items(ScaledStep.from_json),
        "phases": items(ScaledPhase.from_json),
        "ooms": items(ScaledOom.from_json),
        "budget": Budget.from_json,
        "search": ScaledSearch.from_json,
    }
