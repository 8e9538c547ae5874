"""What `highwater chance` answers; written by make_results.py from tools/schemas/chance.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items


@dataclass(frozen=True)
class ChanceLongest(Record):
    """A part of Chance."""

    length: int
    peak_reserved_bytes: int
    peak_allocated_bytes: int


@dataclass(frozen=True)
class ChanceCasePeakReservedQuantile(Record):
    """A part of Chance."""

    share: float
    bytes: int
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True)
class ChanceCasePeakReserved(Record):
    """A part of Chance."""

    mean_bytes: float
    mean_low_bytes: float
    mean_high_bytes: float
    lowest_bytes: int
    highest_bytes: int
    quantiles: tuple[ChanceCasePeakReservedQuantile, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "quantiles": items(ChanceCasePeakReservedQuantile.from_json),
    }


@dataclass(frozen=True)
class ChanceCaseChange(Record):
    """A part of Chance."""

    mean_bytes: float
    low_bytes: float
    high_bytes: float


@dataclass(frozen=True)
class ChanceCaseHistogram(Record):
    """A part of Chance."""

    begin_bytes: int
    end_bytes: int
    runs: int


@dataclass(frozen=True)
class ChanceCaseFailed(Record):
    """A part of Chance."""

    runs: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class ChanceCaseMark(Record):
    """A part of Chance."""

    steps: int
    low_bytes: int
    median_bytes: int
    high_bytes: int
    failed: ChanceCaseFailed

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "failed": ChanceCaseFailed.from_json,
    }


@dataclass(frozen=True)
class ChanceCaseDrift(Record):
    """A part of Chance."""

    verdict: str
    from_step: int
    to_step: int
    bytes_per_1000_steps: float
    low: float
    high: float
    grown: ChanceCaseFailed

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "grown": ChanceCaseFailed.from_json,
    }


@dataclass(frozen=True)
class ChanceCase(Record):
    """A part of Chance."""

    set: dict[str, str]
    settings: str
    available_bytes: int | None
    peak_reserved: ChanceCasePeakReserved
    peak_allocated: ChanceCasePeakReserved
    change: ChanceCaseChange
    histogram: tuple[ChanceCaseHistogram, ...]
    failed: ChanceCaseFailed
    fragmented: ChanceCaseFailed
    marks: tuple[ChanceCaseMark, ...]
    drift: ChanceCaseDrift

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak_reserved": ChanceCasePeakReserved.from_json,
        "peak_allocated": ChanceCasePeakReserved.from_json,
        "change": ChanceCaseChange.from_json,
        "histogram": items(ChanceCaseHistogram.from_json),
        "failed": ChanceCaseFailed.from_json,
        "fragmented": ChanceCaseFailed.from_json,
        "marks": items(ChanceCaseMark.from_json),
        "drift": ChanceCaseDrift.from_json,
    }


@dataclass(frozen=True)
class Chance(Result):
    """What `highwater chance --format json` prints."""

    schema: str
    subject: str
    runs: int
    steps: int
    seed: int
    lengths: str | None
    moe_loads: str | None
    event_lags: str | None
    requests: int
    longest: ChanceLongest
    cases: tuple[ChanceCase, ...]
    best: int
    trust: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "longest": ChanceLongest.from_json,
        "cases": items(ChanceCase.from_json),
    }
