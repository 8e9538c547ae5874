"""What `highwater sweep` answers; written by make_results.py from tools/schemas/sweep.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


@dataclass(frozen=True)
class SweepBasePeak(Record):
    """A part of Sweep."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class SweepBaseAtPeakReserved(Record):
    """A part of Sweep."""

    allocated_bytes: int
    active_bytes: int


@dataclass(frozen=True)
class SweepBaseFinal(Record):
    """A part of Sweep."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class SweepBaseCounts(Record):
    """A part of Sweep."""

    allocs: int
    frees: int
    device_alloc: int
    device_free: int
    segment_map: int
    segment_unmap: int
    alloc_retries: int
    ooms: int
    refused_empty_caches: int


@dataclass(frozen=True)
class SweepBaseFragmentation(Record):
    """A part of Sweep."""

    peak: float
    at_peak_reserved: float
    final_free_bytes: int
    final_free_in_split_bytes: int
    final_free_whole_bytes: int
    final_largest_free_block_bytes: int
    final_rounding_bytes: int
    final_dispersion: float


@dataclass(frozen=True)
class SweepBaseEvents(Record):
    """A part of Sweep."""

    read: int
    replayed: int
    repeated: int
    dropped: int


@dataclass(frozen=True)
class SweepBaseOomPool(Record):
    """A part of Sweep."""

    pool: str
    owner: tuple[int, ...]
    stream: int
    reserved_bytes: int
    allocated_bytes: int
    pending_free_bytes: int
    free_bytes: int
    largest_free_block_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "owner": items(plain),
    }


@dataclass(frozen=True)
class SweepBaseOom(Record):
    """A part of Sweep."""

    operation: int
    requested_bytes: int
    rounded_bytes: int
    segment_bytes: int
    device_free_bytes: int | None
    allowed_bytes: int | None
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int
    largest_free_block_bytes: int
    largest_usable_free_block_bytes: int
    pools: tuple[SweepBaseOomPool, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(SweepBaseOomPool.from_json),
    }


@dataclass(frozen=True)
class SweepBasePeakReservedMoment(Record):
    """A part of Sweep."""

    phase: str


@dataclass(frozen=True)
class SweepBase(Record):
    """A part of Sweep."""

    device: int
    peak: SweepBasePeak
    at_peak_reserved: SweepBaseAtPeakReserved
    final: SweepBaseFinal
    counts: SweepBaseCounts
    fragmentation: SweepBaseFragmentation
    settings: str
    torch: str
    capacity_bytes: int | None
    events: SweepBaseEvents
    truncated: bool
    ooms: tuple[SweepBaseOom, ...]
    ooms_listed: int
    notes: tuple[str, ...]
    set: dict[str, Any]
    reserved_vs_base: float
    torch_detected: str | None = None
    peak_reserved_moment: SweepBasePeakReservedMoment | None = None
    activations_peak_bytes: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": SweepBasePeak.from_json,
        "at_peak_reserved": SweepBaseAtPeakReserved.from_json,
        "final": SweepBaseFinal.from_json,
        "counts": SweepBaseCounts.from_json,
        "fragmentation": SweepBaseFragmentation.from_json,
        "events": SweepBaseEvents.from_json,
        "ooms": items(SweepBaseOom.from_json),
        "notes": items(plain),
        "peak_reserved_moment": SweepBasePeakReservedMoment.from_json,
    }


@dataclass(frozen=True)
class SweepRunPeak(Record):
    """A part of Sweep."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class SweepRunAtPeakReserved(Record):
    """A part of Sweep."""

    allocated_bytes: int
    active_bytes: int


@dataclass(frozen=True)
class SweepRunFinal(Record):
    """A part of Sweep."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class SweepRunCounts(Record):
    """A part of Sweep."""

    allocs: int
    frees: int
    device_alloc: int
    device_free: int
    segment_map: int
    segment_unmap: int
    alloc_retries: int
    ooms: int
    refused_empty_caches: int


@dataclass(frozen=True)
class SweepRunFragmentation(Record):
    """A part of Sweep."""

    peak: float
    at_peak_reserved: float
    final_free_bytes: int
    final_free_in_split_bytes: int
    final_free_whole_bytes: int
    final_largest_free_block_bytes: int
    final_rounding_bytes: int
    final_dispersion: float


@dataclass(frozen=True)
class SweepRunEvents(Record):
    """A part of Sweep."""

    read: int
    replayed: int
    repeated: int
    dropped: int


@dataclass(frozen=True)
class SweepRunOomPool(Record):
    """A part of Sweep."""

    pool: str
    owner: tuple[int, ...]
    stream: int
    reserved_bytes: int
    allocated_bytes: int
    pending_free_bytes: int
    free_bytes: int
    largest_free_block_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "owner": items(plain),
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
    pools: tuple[SweepRunOomPool, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(SweepRunOomPool.from_json),
    }


@dataclass(frozen=True)
class SweepRunPeakReservedMoment(Record):
    """A part of Sweep."""

    phase: str


@dataclass(frozen=True)
class SweepRun(Record):
    """A part of Sweep."""

    device: int
    peak: SweepRunPeak
    at_peak_reserved: SweepRunAtPeakReserved
    final: SweepRunFinal
    counts: SweepRunCounts
    fragmentation: SweepRunFragmentation
    settings: str
    torch: str
    capacity_bytes: int | None
    events: SweepRunEvents
    truncated: bool
    ooms: tuple[SweepRunOom, ...]
    ooms_listed: int
    notes: tuple[str, ...]
    set: dict[str, str]
    reserved_vs_base: float
    torch_detected: str | None = None
    memory_limit_bytes: int | None = None
    peak_reserved_moment: SweepRunPeakReservedMoment | None = None
    activations_peak_bytes: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": SweepRunPeak.from_json,
        "at_peak_reserved": SweepRunAtPeakReserved.from_json,
        "final": SweepRunFinal.from_json,
        "counts": SweepRunCounts.from_json,
        "fragmentation": SweepRunFragmentation.from_json,
        "events": SweepRunEvents.from_json,
        "ooms": items(SweepRunOom.from_json),
        "notes": items(plain),
        "peak_reserved_moment": SweepRunPeakReservedMoment.from_json,
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
