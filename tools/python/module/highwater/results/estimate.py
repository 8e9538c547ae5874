"""What `highwater estimate` answers; written by make_results.py from tools/schemas/estimate.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values


@dataclass(frozen=True)
class EstimateModel(Record):
    """A part of Estimate."""

    name: str
    parameters: int
    largest_layer_parameters: int


@dataclass(frozen=True)
class EstimateJob(Record):
    """A part of Estimate."""

    gpus_per_node: int
    nodes: int
    gpus: int


@dataclass(frozen=True)
class EstimateEstimateTerm(Record):
    """A part of Estimate."""

    name: str
    equation: str
    bytes: int
    covers: tuple[str, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "covers": items(plain),
    }


@dataclass(frozen=True)
class EstimateEstimateVariant(Record):
    """A part of Estimate."""

    options: str
    gpu_bytes: int
    host_bytes: int
    pinned_bytes: int


@dataclass(frozen=True)
class EstimateEstimate(Record):
    """A part of Estimate."""

    name: str
    title: str
    about: str
    bytes: int
    equation: str
    source: str
    assumptions: str
    known_errors: str
    broken_assumptions: tuple[str, ...]
    terms: tuple[EstimateEstimateTerm, ...]
    variants: tuple[EstimateEstimateVariant, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "broken_assumptions": items(plain),
        "terms": items(EstimateEstimateTerm.from_json),
        "variants": items(EstimateEstimateVariant.from_json),
    }


@dataclass(frozen=True)
class EstimateNotApplicable(Record):
    """A part of Estimate."""

    name: str
    reason: str


@dataclass(frozen=True)
class Estimate(Result):
    """What `highwater estimate --format json` prints."""

    schema: str
    plan: dict[str, str | int | tuple[int, ...] | bool | None]
    model: EstimateModel
    job: EstimateJob
    notes: tuple[str, ...]
    estimates: tuple[EstimateEstimate, ...]
    not_applicable: tuple[EstimateNotApplicable, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "model": EstimateModel.from_json,
        "job": EstimateJob.from_json,
        "notes": items(plain),
        "estimates": items(EstimateEstimate.from_json),
        "not_applicable": items(EstimateNotApplicable.from_json),
    }
