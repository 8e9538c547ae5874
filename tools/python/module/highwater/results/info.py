"""What `highwater info` answers; written by make_results.py from tools/schemas/info.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


@dataclass(frozen=True)
class InfoFileSectionViewer(Record):
    """A part of Info."""

    peak_bytes: int
    peak_entry: int
    older_blocks: int
    older_bytes: int
    older_in_use_bytes: int
    max_memory_allocated: int
    max_memory_reserved: int
    meaning: str
    left_out_bytes: int | None = None


@dataclass(frozen=True)
class InfoFileSectionFinal(Record):
    """A part of Info."""

    segments: int
    expandable_segments: int
    private_pool_segments: int
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int


@dataclass(frozen=True)
class InfoFileSectionTopSite(Record):
    """A part of Info."""

    site: str
    bytes: int
    blocks: int
    share: float


@dataclass(frozen=True)
class InfoFileSection(Record):
    """A part of Info."""

    streams: str
    peak_live_requested_bytes: int
    peak_live_blocks: int
    peak_event: int
    top_sites: tuple[InfoFileSectionTopSite, ...]
    notes: tuple[str, ...]
    device: int | None = None
    entries: int | None = None
    actions: dict[str, int] | None = None
    span_seconds: float | None = None
    complete: bool | None = None
    initial_blocks: int | None = None
    initial_blocks_doubtful: int | None = None
    failed_requests: int | None = None
    deferred_frees: int | None = None
    viewer: InfoFileSectionViewer | None = None
    final: InfoFileSectionFinal | None = None
    peak_reserved_bytes: int | None = None
    events: int | None = None
    allocations: int | None = None
    frees: int | None = None
    private_pools: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "viewer": InfoFileSectionViewer.from_json,
        "final": InfoFileSectionFinal.from_json,
        "top_sites": items(InfoFileSectionTopSite.from_json),
        "notes": items(plain),
    }


@dataclass(frozen=True)
class InfoFile(Record):
    """A part of Info."""

    kind: str
    torch: str | None
    settings: str
    file: str
    sections: tuple[InfoFileSection, ...]
    torch_detected: str | None = None
    devices: int | None = None
    annotations: int | None = None
    capacity_bytes: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "sections": items(InfoFileSection.from_json),
    }


@dataclass(frozen=True)
class Info(Result):
    """What `highwater info --format json` prints."""

    schema: str
    files: tuple[InfoFile, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "files": items(InfoFile.from_json),
    }
