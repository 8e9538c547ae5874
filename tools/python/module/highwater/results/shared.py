"""What several answers hold; written by make_results.py from tools/schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, items, plain


@dataclass(frozen=True)
class EstimateTerm(Record):
    """A part of several answers."""

    name: str
    equation: str
    bytes: int
    covers: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "covers": items(plain),
    }


@dataclass(frozen=True)
class EstimateVariant(Record):
    """A part of several answers."""

    options: str
    gpu_bytes: int
    host_bytes: int
    pinned_bytes: int


@dataclass(frozen=True)
class NotApplicable(Record):
    """A part of several answers."""

    name: str
    reason: str


@dataclass(frozen=True)
class OomPool(Record):
    """A part of several answers."""

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
class FitHeldOutPredicted(Record):
    """A part of several answers."""

    requested_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class AtPeakReserved(Record):
    """A part of several answers."""

    allocated_bytes: int
    active_bytes: int


@dataclass(frozen=True)
class Counts(Record):
    """A part of several answers."""

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
class Fragmentation(Record):
    """A part of several answers."""

    peak: float
    at_peak_reserved: float
    final_free_bytes: int
    final_free_in_split_bytes: int
    final_free_whole_bytes: int
    final_largest_free_block_bytes: int
    final_rounding_bytes: int
    final_dispersion: float


@dataclass(frozen=True)
class Events(Record):
    """A part of several answers."""

    read: int
    replayed: int
    repeated: int
    dropped: int


@dataclass(frozen=True)
class Oom(Record):
    """A part of several answers."""

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
    pools: tuple[OomPool, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(OomPool.from_json),
    }


@dataclass(frozen=True)
class Budget(Record):
    """A part of several answers."""

    is_kept: bool
    exceeded: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "exceeded": items(plain),
    }


@dataclass(frozen=True)
class Trial(Record):
    """A part of several answers."""

    batch: int
    fits: bool
    peak_reserved_bytes: int
