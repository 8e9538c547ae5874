"""What `highwater plan` answers; written by make_results.py from tools/schemas/plan.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values
from highwater.results.shared import FindBatchTrial


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
    choice_method: str
    choice_as_text_says: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "methods": items(PlanLlmemMethod.from_json),
    }


@dataclass(frozen=True)
class PlanStrategiesResultFindBatch(Record):
    """A part of Plan."""

    largest: int | None
    smallest_failing: int
    limit: int
    trials: tuple[FindBatchTrial, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "trials": items(FindBatchTrial.from_json),
    }


@dataclass(frozen=True)
class PlanStrategiesResult(Record):
    """A part of Plan."""

    strategy: str
    plan: dict[str, str | float | tuple[int, ...] | bool | None]
    command: str
    fits: bool
    find_batch: PlanStrategiesResultFindBatch
    peak_reserved_bytes: int
    sequences_per_second: float
    llmem_score: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "find_batch": PlanStrategiesResultFindBatch.from_json,
    }


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
    not_simulated: tuple[str, ...]
    passed_over: int
    states_above_a_gpu: PlanStrategiesStatesAboveAGpu | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "results": items(PlanStrategiesResult.from_json),
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
    published: Any
    strategies: PlanStrategies

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "plan": values(plain),
        "notes": items(plain),
        "llmem": items(PlanLlmem.from_json),
        "llmem_broken_assumptions": items(plain),
        "strategies": PlanStrategies.from_json,
    }
