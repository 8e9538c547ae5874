"""What `highwater sweep` answers; written by make_results.py from tools/schemas/sweep.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain
from highwater.results.shared import AtPeakReserved, Counts, Events, FitHeldOutPredicted, Fragmentation, Oom, OomPool


@dataclass(frozen=True)
class SweepBasePeakReservedMoment(Record):
    """A part of Sweep."""

    phase: str


@dataclass(frozen=True)
class SweepBase(Record):
    """A part of Sweep."""

    device: int
    peak: FitHeldOutPredicted
    at_peak_reserved: AtPeakReserved
    final: FitHeldOutPredicted
    counts: Counts
    fragmentation: Fragmentation
    settings: str
    torch: str
    capacity_bytes: int | None
    events: Events
    truncated: bool
    ooms: tuple[Oom, ...]
    ooms_listed: int
    notes: tuple[str, ...]
    set: dict[str, Any]
    reserved_vs_base: float
    torch_detected: str | None = None
    peak_reserved_moment: SweepBasePeakReservedMoment | None = None
    activations_peak_bytes: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
        "at_peak_reserved": AtPeakReserved.from_json,
        "final": FitHeldOutPredicted.from_json,
        "counts": Counts.from_json,
        "fragmentation": Fragmentation.from_json,
        "events": Events.from_json,
        "ooms": items(Oom.from_json),
        "notes": items(plain),
        "peak_reserved_moment": SweepBasePeakReservedMoment.from_json,
    }


@dataclass(frozen=True)
class SweepRunOom(Record):
    """A part of Sweep."""

    operation: int
    requested_bytes: int
    rounded_bytes: int
    segment_bytes: int
    device_free_bytes: int
    allowed_bytes: int
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
class SweepRun(Record):
    """A part of Sweep."""

    device: int
    peak: FitHeldOutPredicted
    at_peak_reserved: AtPeakReserved
    final: FitHeldOutPredicted
    counts: Counts
    fragmentation: Fragmentation
    settings: str
    torch: str
    capacity_bytes: int | None
    events: Events
    truncated: bool
    ooms: tuple[SweepRunOom, ...]
    ooms_listed: int
    notes: tuple[str, ...]
    set: dict[str, str]
    reserved_vs_base: float
    torch_detected: str | None = None
    memory_limit_bytes: int | None = None
    peak_reserved_moment: SweepBasePeakReservedMoment | None = None
    activations_peak_bytes: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
        "at_peak_reserved": AtPeakReserved.from_json,
        "final": FitHeldOutPredicted.from_json,
        "counts": Counts.from_json,
        "fragmentation": Fragmentation.from_json,
        "events": Events.from_json,
        "ooms": items(SweepRunOom.from_json),
        "notes": items(plain),
        "peak_reserved_moment": SweepBasePeakReservedMoment.from_json,
    }


@dataclass(frozen=True)
class Sweep(Result):
    """What `highwater sweep --format json` prints."""

    schema: str
    subject: str
    bases: tuple[SweepBase, ...]
    runs: tuple[SweepRun, ...]
    best: tuple[int, ...]
    trust: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "bases": items(SweepBase.from_json),
        "runs": items(SweepRun.from_json),
        "best": items(plain),
        "trust": items(plain),
    }
