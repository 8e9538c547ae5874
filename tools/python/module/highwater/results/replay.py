"""What `highwater replay` answers; written by make_results.py from tools/schemas/replay.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


@dataclass(frozen=True)
class ReplayDevicePeak(Record):
    """A part of Replay."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class ReplayDeviceAtPeakReserved(Record):
    """A part of Replay."""

    allocated_bytes: int
    active_bytes: int


@dataclass(frozen=True)
class ReplayDeviceFinal(Record):
    """A part of Replay."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class ReplayDeviceCounts(Record):
    """A part of Replay."""

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
class ReplayDeviceFragmentation(Record):
    """A part of Replay."""

    peak: float
    at_peak_reserved: float
    final_free_bytes: int
    final_free_in_split_bytes: int
    final_free_whole_bytes: int
    final_largest_free_block_bytes: int
    final_rounding_bytes: int
    final_dispersion: float


@dataclass(frozen=True)
class ReplayDeviceEvents(Record):
    """A part of Replay."""

    read: int
    replayed: int
    repeated: int
    dropped: int


@dataclass(frozen=True)
class ReplayDeviceFidelityFirstDivergence(Record):
    """A part of Replay."""

    entry: int
    description: str


@dataclass(frozen=True)
class ReplayDeviceFidelity(Record):
    """A part of Replay."""

    segment_events_recorded: int
    segment_events_matched: int
    alloc_addresses_compared: int
    alloc_addresses_matched: int
    final_segments_compared: int
    final_segments_matched: int
    initial_blocks_doubtful: int
    resyncs: int
    snapshots_checked: int
    snapshots_matched: int
    peak_reserved_recorded_bytes: int
    first_divergence: ReplayDeviceFidelityFirstDivergence | None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "first_divergence": ReplayDeviceFidelityFirstDivergence.from_json,
    }


@dataclass(frozen=True)
class ReplayDeviceOomPool(Record):
    """A part of Replay."""

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
class ReplayDeviceOom(Record):
    """A part of Replay."""

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
    pools: tuple[ReplayDeviceOomPool, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(ReplayDeviceOomPool.from_json),
    }


@dataclass(frozen=True)
class ReplayDeviceDecision(Record):
    """A part of Replay."""

    operation: int
    action: str
    address: int
    bytes: int
    stream: int


@dataclass(frozen=True)
class ReplayDeviceTimelineRequested(Record):
    """A part of Replay."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "low": items(plain),
        "high": items(plain),
    }


@dataclass(frozen=True)
class ReplayDeviceTimelineAllocated(Record):
    """A part of Replay."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "low": items(plain),
        "high": items(plain),
    }


@dataclass(frozen=True)
class ReplayDeviceTimelineActive(Record):
    """A part of Replay."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "low": items(plain),
        "high": items(plain),
    }


@dataclass(frozen=True)
class ReplayDeviceTimelineReserved(Record):
    """A part of Replay."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "low": items(plain),
        "high": items(plain),
    }


@dataclass(frozen=True)
class ReplayDeviceTimeline(Record):
    """A part of Replay."""

    operations_per_bucket: int
    requested: ReplayDeviceTimelineRequested
    allocated: ReplayDeviceTimelineAllocated
    active: ReplayDeviceTimelineActive
    reserved: ReplayDeviceTimelineReserved

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "requested": ReplayDeviceTimelineRequested.from_json,
        "allocated": ReplayDeviceTimelineAllocated.from_json,
        "active": ReplayDeviceTimelineActive.from_json,
        "reserved": ReplayDeviceTimelineReserved.from_json,
    }


@dataclass(frozen=True)
class ReplayDevice(Record):
    """A part of Replay."""

    device: int
    peak: ReplayDevicePeak
    at_peak_reserved: ReplayDeviceAtPeakReserved
    final: ReplayDeviceFinal
    counts: ReplayDeviceCounts
    fragmentation: ReplayDeviceFragmentation
    settings: str
    torch: str
    capacity_bytes: int | None
    events: ReplayDeviceEvents
    truncated: bool
    ooms: tuple[ReplayDeviceOom, ...]
    ooms_listed: int
    notes: tuple[str, ...]
    torch_detected: str | None = None
    fidelity: ReplayDeviceFidelity | None = None
    decisions: tuple[ReplayDeviceDecision, ...] | None = None
    timeline: ReplayDeviceTimeline | None = None
    memory_limit_bytes: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": ReplayDevicePeak.from_json,
        "at_peak_reserved": ReplayDeviceAtPeakReserved.from_json,
        "final": ReplayDeviceFinal.from_json,
        "counts": ReplayDeviceCounts.from_json,
        "fragmentation": ReplayDeviceFragmentation.from_json,
        "events": ReplayDeviceEvents.from_json,
        "fidelity": ReplayDeviceFidelity.from_json,
        "ooms": items(ReplayDeviceOom.from_json),
        "notes": items(plain),
        "decisions": items(ReplayDeviceDecision.from_json),
        "timeline": ReplayDeviceTimeline.from_json,
    }


@dataclass(frozen=True)
class ReplayBudget(Record):
    """A part of Replay."""

    is_kept: bool
    exceeded: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "exceeded": items(plain),
    }


@dataclass(frozen=True)
class Replay(Result):
    """What `highwater replay --format json` prints."""

    schema: str
    devices: tuple[ReplayDevice, ...]
    budget: ReplayBudget | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "devices": items(ReplayDevice.from_json),
        "budget": ReplayBudget.from_json,
    }
