"""What `highwater fit` answers; written by make_results.py from tools/schemas/fit.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain
from highwater.results.shared import FitHeldOutPredicted


@dataclass(frozen=True)
class FitRecordingRecorded(Record):
    """A part of Fit."""

    allocated_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class FitRecording(Record):
    """A part of Fit."""

    file: str
    at: dict[str, int]
    requests: int
    recorded: FitRecordingRecorded
    predicted: FitRecordingRecorded
    other_sizes: int
    missing: int
    additional: int
    reordered: int
    held_out: bool
    reproduced: bool

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "recorded": FitRecordingRecorded.from_json,
        "predicted": FitRecordingRecorded.from_json,
    }


@dataclass(frozen=True)
class FitRequests(Record):
    """A part of Fit."""

    confirmed: int
    determined: int
    estimated: int


@dataclass(frozen=True)
class FitInteger(Record):
    """A part of Fit."""

    name: str
    least: int
    most: int
    multiple: int


@dataclass(frozen=True)
class FitHeldOut(Record):
    """A part of Fit."""

    file: str
    other_sizes: int
    unconfirmed: int
    missing: int
    additional: int
    peaks_equal: bool
    predicted: FitHeldOutPredicted

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "predicted": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class FitFormula(Record):
    """A part of Fit."""

    bytes: str
    basis: str
    requests: int
    largest_recorded_bytes: int


@dataclass(frozen=True)
class FitChange(Record):
    """A part of Fit."""

    phase: str
    site: str
    counts: tuple[int, ...]
    largest_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "counts": items(plain),
    }


@dataclass(frozen=True)
class Fit(Result):
    """What `highwater fit --format json` prints."""

    schema: str
    output: str
    recordings: tuple[FitRecording, ...]
    requests: FitRequests
    integers: tuple[FitInteger, ...]
    held_out: FitHeldOut | None
    formulas: tuple[FitFormula, ...]
    changes: tuple[FitChange, ...]
    notes: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "recordings": items(FitRecording.from_json),
        "requests": FitRequests.from_json,
        "integers": items(FitInteger.from_json),
        "held_out": FitHeldOut.from_json,
        "formulas": items(FitFormula.from_json),
        "changes": items(FitChange.from_json),
        "notes": items(plain),
    }
