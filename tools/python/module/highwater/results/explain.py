"""What `highwater explain` answers; written by make_results.py from tools/schemas/explain.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain
from highwater.results.shared import OomPool


@dataclass(frozen=True)
class ExplainDeviceCounterfactualSite(Record):
    """A part of Explain."""

    site: str
    bytes: int
    blocks: int


@dataclass(frozen=True)
class ExplainDeviceCounterfactual(Record):
    """A part of Explain."""

    kind: str
    serves: bool
    survives: bool
    text: str
    conf: str | None = None
    peak_reserved_bytes: int | None = None
    blocks: int | None = None
    bytes: int | None = None
    sites: tuple[ExplainDeviceCounterfactualSite, ...] | None = None
    edit: str | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "sites": items(ExplainDeviceCounterfactualSite.from_json),
    }


@dataclass(frozen=True)
class ExplainDeviceOomFree(Record):
    """A part of Explain."""

    same_place_bytes: int
    other_streams_bytes: int
    other_pools_bytes: int
    private_pools_bytes: int
    pending_bytes: int


@dataclass(frozen=True)
class ExplainDeviceOom(Record):
    """A part of Explain."""

    operation: int
    requested_bytes: int
    rounded_bytes: int
    segment_bytes: int
    device_free_bytes: int
    allowed_bytes: int | None
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int
    largest_free_block_bytes: int
    largest_usable_free_block_bytes: int
    pools: tuple[OomPool, ...]
    event: int
    site: str
    step: int | None
    phase: str
    limit_bytes: int
    free: ExplainDeviceOomFree

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(OomPool.from_json),
        "free": ExplainDeviceOomFree.from_json,
    }


@dataclass(frozen=True)
class ExplainDeviceBoundsExpandable(Record):
    """A part of Explain."""

    reserved_bytes: int
    ran_out: bool


@dataclass(frozen=True)
class ExplainDeviceBounds(Record):
    """A part of Explain."""

    live_bytes: int
    live_rounded_bytes: int
    packed_bytes: int
    packing_gap: float
    expandable: ExplainDeviceBoundsExpandable
    default: ExplainDeviceBoundsExpandable
    own: ExplainDeviceBoundsExpandable
    most_to_win_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "expandable": ExplainDeviceBoundsExpandable.from_json,
        "default": ExplainDeviceBoundsExpandable.from_json,
        "own": ExplainDeviceBoundsExpandable.from_json,
    }


@dataclass(frozen=True)
class ExplainDeviceDriftReserved(Record):
    """A part of Explain."""

    bytes_per_step: float
    low: float
    high: float


@dataclass(frozen=True)
class ExplainDeviceDriftForecast(Record):
    """A part of Explain."""

    limit_bytes: int
    steps: float
    earliest: float
    latest: float


@dataclass(frozen=True)
class ExplainDeviceDriftLeak(Record):
    """A part of Explain."""

    site: str
    bytes: int
    blocks: int
    steps: int
    bytes_per_step: float


@dataclass(frozen=True)
class ExplainDeviceDriftPendingFree(Record):
    """A part of Explain."""

    site: str
    bytes: int
    freed_at_operation: int
    age_operations: int


@dataclass(frozen=True)
class ExplainDeviceDrift(Record):
    """A part of Explain."""

    verdict: str
    steps: int
    steps_from: str
    confidence: float
    reserved: ExplainDeviceDriftReserved
    allocated_peak: ExplainDeviceDriftReserved
    allocated_end: ExplainDeviceDriftReserved
    forecast: ExplainDeviceDriftForecast | None
    leaks: tuple[ExplainDeviceDriftLeak, ...]
    pending_frees: tuple[ExplainDeviceDriftPendingFree, ...]
    pending_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "reserved": ExplainDeviceDriftReserved.from_json,
        "allocated_peak": ExplainDeviceDriftReserved.from_json,
        "allocated_end": ExplainDeviceDriftReserved.from_json,
        "forecast": ExplainDeviceDriftForecast.from_json,
        "leaks": items(ExplainDeviceDriftLeak.from_json),
        "pending_frees": items(ExplainDeviceDriftPendingFree.from_json),
    }


@dataclass(frozen=True)
class ExplainDevice(Record):
    """A part of Explain."""

    subject: str
    device: int
    verdict: str
    history: bool
    cause: str | None
    reproduced: bool | None
    counterfactuals: tuple[ExplainDeviceCounterfactual, ...]
    oom: ExplainDeviceOom | None
    peak_reserved_bytes: int
    peak_allocated_bytes: int
    holders: tuple[ExplainDeviceCounterfactualSite, ...]
    pinned: tuple[ExplainDeviceCounterfactualSite, ...]
    pinned_bytes: int
    pinned_byte_operations: int
    bounds: ExplainDeviceBounds
    drift: ExplainDeviceDrift
    settings: str
    notes: tuple[str, ...]
    trust: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "counterfactuals": items(ExplainDeviceCounterfactual.from_json),
        "oom": ExplainDeviceOom.from_json,
        "holders": items(ExplainDeviceCounterfactualSite.from_json),
        "pinned": items(ExplainDeviceCounterfactualSite.from_json),
        "bounds": ExplainDeviceBounds.from_json,
        "drift": ExplainDeviceDrift.from_json,
        "notes": items(plain),
    }


@dataclass(frozen=True)
class Explain(Result):
    """What `highwater explain --format json` prints."""

    schema: str
    devices: tuple[ExplainDevice, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "devices": items(ExplainDevice.from_json),
    }
