"""What `highwater estimate` answers; written by make_results.py from tools/schemas/estimate.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values
from highwater.results.shared import EstimateTerm, EstimateVariant, NotApplicable


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
    terms: tuple[EstimateTerm, ...]
    variants: tuple[EstimateVariant, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "broken_assumptions": items(plain),
        "terms": items(EstimateTerm.from_json),
        "variants": items(EstimateVariant.from_json),
    }


@dataclass(frozen=True)
class Estimate(Result):
    """What `highwater estimate --format json` prints."""

    schema: str
    plan: dict[str, str | float | tuple[int, ...] | bool | None]
    model: EstimateModel
    job: EstimateJob
    notes: tuple[str, ...]
    estimates: tuple[EstimateEstimate, ...]
    not_applicable: tuple[NotApplicable, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "model": EstimateModel.from_json,
        "job": EstimateJob.from_json,
        "notes": items(plain),
        "estimates": items(EstimateEstimate.from_json),
        "not_applicable": items(NotApplicable.from_json),
    }
