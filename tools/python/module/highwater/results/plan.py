"""What `highwater plan` answers; written by make_results.py from tools/schemas/plan.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values


@dataclass(frozen=True)
class PlanLlmemMethod(Record):
    """A part of Plan."""

    method: str
    largest_batch: int
    score: float
    peak_bytes: int


@dataclass(frozen=True)
class PlanLlmem(Record):
    """A part of Plan."""

    terms: str
    methods: tuple[PlanLlmemMethod, ...]
    choice: str
    choice_method: str | None
    choice_as_text_says: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "methods": items(PlanLlmemMethod.from_json),
    }


@dataclass(frozen=True)
class PlanPublished(Record):
    """A part of Plan."""

    choice: str
    mismatch: str


@dataclass(frozen=True)
class PlanStrategiesResultStepParts(Record):
    """A part of Plan."""

    matrix_products_s: float
    attention_s: float
    memory_bound_kernels_s: float
    recomputation_s: float
    tensor_parallelism_s: float
    context_parallelism_s: float
    expert_parallelism_s: float
    pipeline_bubble_s: float
    sends_between_stages_s: float
    data_parallelism_s: float
    optimizer_s: float
    offloading_s: float


@dataclass(frozen=True)
class PlanStrategiesResultStep(Record):
    """A part of Plan."""

    total_s: float
    parts: PlanStrategiesResultStepParts

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "parts": PlanStrategiesResultStepParts.from_json,
    }


@dataclass(frozen=True)
class PlanStrategiesResult(Record):
    """A part of Plan."""

    strategy: str
    states: str
    plan: dict[str, str | tuple[int, ...] | bool | float | None]
    command: str
    fits: bool
    peak_reserved_bytes: int
    capacity_bytes: int
    tokens_per_second_per_gpu: float
    sequences_per_second: float
    step: PlanStrategiesResultStep
    llmem_score: int
    also: tuple[str, ...]
    why_not_higher: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "step": PlanStrategiesResultStep.from_json,
        "also": items(plain),
    }


@dataclass(frozen=True)
class PlanStrategiesAssumptions(Record):
    """A part of Plan."""

    network_bytes_per_second: float
    tensor_sums: str
    pipelines_beside_full_machines_only: bool


@dataclass(frozen=True)
class PlanStrategiesStatesAboveAGpu(Record):
    """A part of Plan."""

    bytes: int
    capacity_bytes: int
    meaning: str


@dataclass(frozen=True)
class PlanStrategies(Record):
    """A part of Plan."""

    results: tuple[PlanStrategiesResult, ...]
    global_batch: int
    margin: float
    fixed: dict[str, str]
    settings: dict[str, str]
    assumptions: PlanStrategiesAssumptions
    states_above_a_gpu: PlanStrategiesStatesAboveAGpu | None
    not_simulated: tuple[str, ...]
    candidates: int
    variations: int
    simulated: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "results": items(PlanStrategiesResult.from_json),
        "assumptions": PlanStrategiesAssumptions.from_json,
        "states_above_a_gpu": PlanStrategiesStatesAboveAGpu.from_json,
        "not_simulated": items(plain),
    }


@dataclass(frozen=True)
class Plan(Result):
    """What `highwater plan --format json` prints."""

    schema: str
    plan: dict[str, str | float | tuple[int, ...] | bool | None]
    notes: tuple[str, ...]
    gpus: int
    tensor_parallel_group: int
    device_bytes: int
    llmem_base_bytes: int
    llmem: tuple[PlanLlmem, ...]
    llmem_refusal: str | None
    llmem_broken_assumptions: tuple[str, ...]
    published: PlanPublished | None
    strategies: PlanStrategies | None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "notes": items(plain),
        "llmem": items(PlanLlmem.from_json),
        "llmem_broken_assumptions": items(plain),
        "published": PlanPublished.from_json,
        "strategies": PlanStrategies.from_json,
    }
