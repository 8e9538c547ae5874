"""What `highwater diff` answers; written by make_results.py from tools/schemas/diff.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


@dataclass(frozen=True)
class DiffPeakFirst(Record):
    """A part of Diff."""

    requested_bytes: int
    rounding_bytes: int
    tails_bytes: int
    waiting_bytes: int
    free_in_split_bytes: int
    free_whole_bytes: int
    passing_bytes: int
    total_bytes: int
    device: int
    operations: int
    step: int | None
    peak_allocated_bytes: int
    peak_requested_bytes: int
    device_alloc: int
    device_free: int
    alloc_retries: int
    ooms: int
    fragmentation_at_peak: float
    fragmentation: float
    trust: str


@dataclass(frozen=True)
class DiffPeakChange(Record):
    """A part of Diff."""

    requested_bytes: int
    rounding_bytes: int
    tails_bytes: int
    waiting_bytes: int
    free_in_split_bytes: int
    free_whole_bytes: int
    passing_bytes: int
    total_bytes: int
    peak_allocated_bytes: int
    peak_requested_bytes: int
    device_alloc: int
    device_free: int
    alloc_retries: int
    ooms: int
    fragmentation_at_peak: float
    fragmentation: float


@dataclass(frozen=True)
class DiffPeakSiteFirst(Record):
    """A part of Diff."""

    requested_bytes: int
    rounding_bytes: int
    tails_bytes: int
    waiting_bytes: int
    free_in_split_bytes: int
    free_whole_bytes: int
    passing_bytes: int
    total_bytes: int
    blocks: int


@dataclass(frozen=True)
class DiffPeakSite(Record):
    """A part of Diff."""

    name: str
    change_bytes: int
    first: DiffPeakSiteFirst
    second: DiffPeakSiteFirst

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "first": DiffPeakSiteFirst.from_json,
        "second": DiffPeakSiteFirst.from_json,
    }


@dataclass(frozen=True)
class DiffPeakSegmentFirst(Record):
    """A part of Diff."""

    requested_bytes: int
    rounding_bytes: int
    tails_bytes: int
    waiting_bytes: int
    free_in_split_bytes: int
    free_whole_bytes: int
    passing_bytes: int
    total_bytes: int
    segments: int


@dataclass(frozen=True)
class DiffPeakSegment(Record):
    """A part of Diff."""

    name: str
    change_bytes: int
    first: DiffPeakSegmentFirst
    second: DiffPeakSegmentFirst

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "first": DiffPeakSegmentFirst.from_json,
        "second": DiffPeakSegmentFirst.from_json,
    }


@dataclass(frozen=True)
class DiffPeak(Record):
    """A part of Diff."""

    first: DiffPeakFirst
    second: DiffPeakFirst
    change: DiffPeakChange
    sites: tuple[DiffPeakSite, ...]
    categories: tuple[DiffPeakSite, ...]
    segments: tuple[DiffPeakSegment, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "first": DiffPeakFirst.from_json,
        "second": DiffPeakFirst.from_json,
        "change": DiffPeakChange.from_json,
        "sites": items(DiffPeakSite.from_json),
        "categories": items(DiffPeakSite.from_json),
        "segments": items(DiffPeakSegment.from_json),
    }


@dataclass(frozen=True)
class DiffBlocksSizeOnlyFirst(Record):
    """A part of Diff."""

    site: str
    blocks: int


@dataclass(frozen=True)
class DiffBlocksSize(Record):
    """A part of Diff."""

    bytes: int
    first_blocks: int
    second_blocks: int
    change_bytes: int
    only_first: tuple[DiffBlocksSizeOnlyFirst, ...]
    only_second: tuple[DiffBlocksSizeOnlyFirst, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "only_first": items(DiffBlocksSizeOnlyFirst.from_json),
        "only_second": items(DiffBlocksSizeOnlyFirst.from_json),
    }


@dataclass(frozen=True)
class DiffBlocks(Record):
    """A part of Diff."""

    first_bytes: int
    second_bytes: int
    sizes: tuple[DiffBlocksSize, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "sizes": items(DiffBlocksSize.from_json),
    }


@dataclass(frozen=True)
class DiffPhaseFirst(Record):
    """A part of Diff."""

    requests: int
    peak_bytes: int
    end_bytes: int


@dataclass(frozen=True)
class DiffPhaseHunkLine(Record):
    """A part of Diff."""

    side: str
    kind: str
    bytes: int
    stream: int
    second_allocation: int | None = None
    second_label: str | None = None
    first_allocation: int | None = None
    first_label: str | None = None


@dataclass(frozen=True)
class DiffPhaseHunk(Record):
    """A part of Diff."""

    begin: int
    lines: tuple[DiffPhaseHunkLine, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "lines": items(DiffPhaseHunkLine.from_json),
    }


@dataclass(frozen=True)
class DiffPhaseSize(Record):
    """A part of Diff."""

    bytes: int
    first: int
    second: int


@dataclass(frozen=True)
class DiffPhase(Record):
    """A part of Diff."""

    step: int | None
    phase: str
    occurrence: int
    equal: bool
    only_first: int
    only_second: int
    first: DiffPhaseFirst
    second: DiffPhaseFirst
    hunks: tuple[DiffPhaseHunk, ...]
    sizes: tuple[DiffPhaseSize, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "first": DiffPhaseFirst.from_json,
        "second": DiffPhaseFirst.from_json,
        "hunks": items(DiffPhaseHunk.from_json),
        "sizes": items(DiffPhaseSize.from_json),
    }


@dataclass(frozen=True)
class DiffOrigin(Record):
    """A part of Diff."""

    side: str
    times: int
    bytes: int
    label: str


@dataclass(frozen=True)
class Diff(Result):
    """What `highwater diff --format json` prints."""

    schema: str
    first: str
    second: str
    peak: DiffPeak
    equal: bool
    equal_from_step_1: bool
    phases: tuple[DiffPhase, ...]
    origins: tuple[DiffOrigin, ...]
    notes: tuple[str, ...]
    blocks: DiffBlocks | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": DiffPeak.from_json,
        "blocks": DiffBlocks.from_json,
        "phases": items(DiffPhase.from_json),
        "origins": items(DiffOrigin.from_json),
        "notes": items(plain),
    }
