"""What `highwater scan` answers; written by make_results.py from tools/schemas/scan.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items


@dataclass(frozen=True)
class ScanRow(Record):
    """A part of Scan."""

    file: str
    rank: int | None
    device: int | None = None
    peak_reserved_bytes: int | None = None
    peak_allocated_bytes: int | None = None
    peak_active_bytes: int | None = None
    fragmentation: float | None = None
    ooms: int | None = None
    truncated: bool | None = None
    fidelity: float | None = None
    outlier_reserved: bool | None = None
    outlier_allocated: bool | None = None
    steps: int | None = None
    growth_bytes_per_step: float | None = None
    outlier_growth: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class ScanPeakReserved(Record):
    """A part of Scan."""

    lowest_bytes: int
    median_bytes: int
    highest_bytes: int
    mean_bytes: float
    imbalance: float
    highest_row: int


@dataclass(frozen=True)
class ScanDifference(Record):
    """A part of Scan."""

    file: str
    rank: int | None
    device: int
    kind: str
    name: str
    bytes: int
    usual_bytes: int
    difference_bytes: int


@dataclass(frozen=True)
class Scan(Result):
    """What `highwater scan --format json` prints."""

    schema: str
    rows: tuple[ScanRow, ...]
    unreadable: int
    peak_reserved: ScanPeakReserved | None
    peak_allocated: ScanPeakReserved | None
    differences: tuple[ScanDifference, ...] | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "rows": items(ScanRow.from_json),
        "peak_reserved": ScanPeakReserved.from_json,
        "peak_allocated": ScanPeakReserved.from_json,
        "differences": items(ScanDifference.from_json),
    }
