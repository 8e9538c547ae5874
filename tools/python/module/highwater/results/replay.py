"""What `highwater replay` answers; written by make_results.py from tools/schemas/replay.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain
from highwater.results.shared import AtPeakReserved, Budget, Counts, Events, FitHeldOutPredicted, Fragmentation, Oom


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
class ReplayDeviceTimeline(Record):
    """A part of Replay."""

    operations_per_bucket: int
    requested: ReplayDeviceTimelineRequested
    allocated: ReplayDeviceTimelineRequested
    active: ReplayDeviceTimelineRequested
    reserved: ReplayDeviceTimelineRequested

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "requested": ReplayDeviceTimelineRequested.from_json,
        "allocated": ReplayDeviceTimelineRequested.from_json,
        "active": ReplayDeviceTimelineRequested.from_json,
        "reserved": ReplayDeviceTimelineRequested.from_json,
    }


@dataclass(frozen=True)
class ReplayDeviceEditedEdit(Record):
    """A part of Replay."""

    edit: str
    done: str
    blocks: int
    changed: int
    changed_bytes: int
    assumed: tuple[str, ...]
    unknown: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "assumed": items(plain),
        "unknown": items(plain),
    }


@dataclass(frozen=True)
class ReplayDeviceEditedUnedited(Record):
    """A part of Replay."""

    peak: FitHeldOutPredicted
    ooms: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class ReplayDeviceEditedBeside(Record):
    """A part of Replay."""

    peak: FitHeldOutPredicted
    final: FitHeldOutPredicted
    context_bytes: int
    has_context: bool
    ooms: int
    alloc_retries: int
    device_peak_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
        "final": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class ReplayDeviceEdited(Record):
    """A part of Replay."""

    edits: tuple[ReplayDeviceEditedEdit, ...]
    unedited: ReplayDeviceEditedUnedited
    beside: ReplayDeviceEditedBeside | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "edits": items(ReplayDeviceEditedEdit.from_json),
        "unedited": ReplayDeviceEditedUnedited.from_json,
        "beside": ReplayDeviceEditedBeside.from_json,
    }


@dataclass(frozen=True)
class ReplayDevice(Record):
    """A part of Replay."""

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
    torch_detected: str | None = None
    fidelity: ReplayDeviceFidelity | None = None
    decisions: tuple[ReplayDeviceDecision, ...] | None = None
    timeline: ReplayDeviceTimeline | None = None
    memory_limit_bytes: int | None = None
    edited: ReplayDeviceEdited | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
        "at_peak_reserved": AtPeakReserved.from_json,
        "final": FitHeldOutPredicted.from_json,
        "counts": Counts.from_json,
        "fragmentation": Fragmentation.from_json,
        "events": Events.from_json,
        "fidelity": ReplayDeviceFidelity.from_json,
        "ooms": items(Oom.from_json),
        "notes": items(plain),
        "decisions": items(ReplayDeviceDecision.from_json),
        "timeline": ReplayDeviceTimeline.from_json,
        "edited": ReplayDeviceEdited.from_json,
    }


@dataclass(frozen=True)
class Replay(Result):
    """What `highwater replay --format json` prints."""

    schema: str
    devices: tuple[ReplayDevice, ...]
    budget: Budget | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "devices": items(ReplayDevice.from_json),
        "budget": Budget.from_json,
    }
