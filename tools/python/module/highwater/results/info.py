"""What `highwater info` answers; written by make_results.py from tools/schemas/info.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


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

    device: int
    entries: int
    streams: str
    complete: bool
    initial_blocks: int
    initial_blocks_doubtful: int
    failed_requests: int
    deferred_frees: int
    peak_live_requested_bytes: int
    peak_live_blocks: int
    peak_event: int
    final: InfoFileSectionFinal
    peak_reserved_bytes: int
    top_sites: tuple[InfoFileSectionTopSite, ...]
    notes: tuple[str, ...]
    actions: dict[str, int] | None = None
    span_seconds: float | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "final": InfoFileSectionFinal.from_json,
        "top_sites": items(InfoFileSectionTopSite.from_json),
        "notes": items(plain),
    }


@dataclass(frozen=True)
class InfoFile(Record):
    """A part of Info."""

    kind: str
    torch_detected: str
    torch: str
    settings: str
    devices: int
    annotations: int
    file: str
    sections: tuple[InfoFileSection, ...]

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
