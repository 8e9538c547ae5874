"""What `highwater validate` answers; written by make_results.py from tools/schemas/validate.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values
from highwater.results.shared import FitHeldOutPredicted, NotApplicable


@dataclass(frozen=True)
class ValidateCaseFidelity(Record):
    """A part of Validate."""

    segment_events_recorded: int
    segment_events_matched: int
    alloc_addresses_compared: int
    alloc_addresses_matched: int
    final_segments_compared: int
    final_segments_matched: int
    initial_blocks_doubtful: int
    resyncs: int
    peak_reserved_recorded_bytes: int
    peak_reserved_replayed_bytes: int
    first_divergence: None


@dataclass(frozen=True)
class ValidateCaseOom(Record):
    """A part of Validate."""

    recorded: None
    simulated: None


@dataclass(frozen=True)
class ValidateCaseRequests(Record):
    """A part of Validate."""

    equal: bool
    equal_from_step_1: bool
    equal_from_step_1_any_free_order: bool
    only_recorded: int
    only_simulated: int
    first_difference: str


@dataclass(frozen=True)
class ValidateCaseStepError(Record):
    """A part of Validate."""

    requested: float
    allocated: float
    active: float
    reserved: float


@dataclass(frozen=True)
class ValidateCaseStep(Record):
    """A part of Validate."""

    step: int
    recorded: FitHeldOutPredicted
    simulated: FitHeldOutPredicted
    error: ValidateCaseStepError
    outside: None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "recorded": FitHeldOutPredicted.from_json,
        "simulated": FitHeldOutPredicted.from_json,
        "error": ValidateCaseStepError.from_json,
    }


@dataclass(frozen=True)
class ValidateCaseEstimate(Record):
    """A part of Validate."""

    name: str
    about: str
    bytes: int
    compared_with: str
    recorded_bytes: int
    simulated_bytes: int
    error_vs_recorded: float
    simulation_error_vs_recorded: float


@dataclass(frozen=True)
class ValidateCase(Record):
    """A part of Validate."""

    id: str
    path: str
    status: str
    half: str
    fidelity: ValidateCaseFidelity
    ends_alike: bool
    oom: ValidateCaseOom
    requests: ValidateCaseRequests
    steps: tuple[ValidateCaseStep, ...]
    estimates: tuple[ValidateCaseEstimate, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "fidelity": ValidateCaseFidelity.from_json,
        "oom": ValidateCaseOom.from_json,
        "requests": ValidateCaseRequests.from_json,
        "steps": items(ValidateCaseStep.from_json),
        "estimates": items(ValidateCaseEstimate.from_json),
    }


@dataclass(frozen=True)
class ValidateSummaryPeakRequested(Record):
    """A part of Validate."""

    count: int
    median: float
    p95: float
    worst: float
    bias: float


@dataclass(frozen=True)
class ValidateSummaryEstimateBreak(Record):
    """A part of Validate."""

    axis: str
    value: str
    points: int
    median: float


@dataclass(frozen=True)
class ValidateSummaryEstimateWorst(Record):
    """A part of Validate."""

    label: str
    error_vs_simulated: float
    command: str


@dataclass(frozen=True)
class ValidateSummaryEstimate(Record):
    """A part of Validate."""

    name: str
    about: str
    compared_with: str
    error_vs_recorded: ValidateSummaryPeakRequested | None = None
    simulation_error_vs_recorded: ValidateSummaryPeakRequested | None = None
    refused: int | None = None
    error_vs_simulated: ValidateSummaryPeakRequested | None = None
    error_vs_covered: ValidateSummaryPeakRequested | None = None
    error_vs_measured: ValidateSummaryPeakRequested | None = None
    breaks: tuple[ValidateSummaryEstimateBreak, ...] | None = None
    worst: ValidateSummaryEstimateWorst | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "error_vs_recorded": ValidateSummaryPeakRequested.from_json,
        "simulation_error_vs_recorded": ValidateSummaryPeakRequested.from_json,
        "error_vs_simulated": ValidateSummaryPeakRequested.from_json,
        "error_vs_covered": ValidateSummaryPeakRequested.from_json,
        "error_vs_measured": ValidateSummaryPeakRequested.from_json,
        "breaks": items(ValidateSummaryEstimateBreak.from_json),
        "worst": ValidateSummaryEstimateWorst.from_json,
    }


@dataclass(frozen=True)
class ValidateSummary(Record):
    """A part of Validate."""

    cases: int | None = None
    unsupported: int | None = None
    fidelity_perfect: int | None = None
    requests_equal_from_step_1: int | None = None
    ends_otherwise: int | None = None
    peak_requested: ValidateSummaryPeakRequested | None = None
    peak_allocated: ValidateSummaryPeakRequested | None = None
    peak_active: ValidateSummaryPeakRequested | None = None
    peak_reserved: ValidateSummaryPeakRequested | None = None
    outside: None = None
    halves: dict[str, Any] | None = None
    estimates: tuple[ValidateSummaryEstimate, ...] | None = None
    passed: int | None = None
    failed: int | None = None
    observations: int | None = None
    known_mismatches: int | None = None
    points: int | None = None
    skipped: int | None = None
    simulation_vs_measured: ValidateSummaryPeakRequested | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak_requested": ValidateSummaryPeakRequested.from_json,
        "peak_allocated": ValidateSummaryPeakRequested.from_json,
        "peak_active": ValidateSummaryPeakRequested.from_json,
        "peak_reserved": ValidateSummaryPeakRequested.from_json,
        "estimates": items(ValidateSummaryEstimate.from_json),
        "simulation_vs_measured": ValidateSummaryPeakRequested.from_json,
    }


@dataclass(frozen=True)
class ValidateReferenceCaseValueSource(Record):
    """A part of Validate."""

    value: float | str
    unit: str
    tolerance: float
    agrees: bool


@dataclass(frozen=True)
class ValidateReferenceCaseValue(Record):
    """A part of Validate."""

    name: str
    computed: float | str | None
    reference: float | str
    source: ValidateReferenceCaseValueSource | None
    problem: str | None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "source": ValidateReferenceCaseValueSource.from_json,
    }


@dataclass(frozen=True)
class ValidateReferenceCase(Record):
    """A part of Validate."""

    id: str
    source: str
    formula: str
    notes: str
    kind: str
    result: str
    known_mismatch: bool
    problem: str | None
    values: tuple[ValidateReferenceCaseValue, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "values": items(ValidateReferenceCaseValue.from_json),
    }


@dataclass(frozen=True)
class ValidatePointPeak(Record):
    """A part of Validate."""

    allocated_bytes: int
    reserved_bytes: int
    process_bytes: int


@dataclass(frozen=True)
class ValidatePointEstimate(Record):
    """A part of Validate."""

    name: str
    about: str
    bytes: int
    compared_with: str
    simulated_bytes: int
    error_vs_simulated: float
    covered_bytes: int
    error_vs_covered: float
    error_vs_measured: None


@dataclass(frozen=True)
class ValidatePoint(Record):
    """A part of Validate."""

    label: str
    plan: dict[str, str | tuple[int, ...] | bool | float | None]
    peak: ValidatePointPeak
    measured: None
    estimates: tuple[ValidatePointEstimate, ...]
    not_applicable: tuple[NotApplicable, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "peak": ValidatePointPeak.from_json,
        "estimates": items(ValidatePointEstimate.from_json),
        "not_applicable": items(NotApplicable.from_json),
    }


@dataclass(frozen=True)
class Validate(Result):
    """What `highwater validate --format json` prints."""

    schema: str
    summary: ValidateSummary
    cases: tuple[ValidateCase, ...] | None = None
    unsupported: tuple[Any, ...] | None = None
    reference_cases: tuple[ValidateReferenceCase, ...] | None = None
    kind: str | None = None
    axes: tuple[str, ...] | None = None
    points: tuple[ValidatePoint, ...] | None = None
    skipped: tuple[Any, ...] | None = None
    trust: str | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "cases": items(ValidateCase.from_json),
        "unsupported": items(plain),
        "summary": ValidateSummary.from_json,
        "reference_cases": items(ValidateReferenceCase.from_json),
        "axes": items(plain),
        "points": items(ValidatePoint.from_json),
        "skipped": items(plain),
    }
