"""What `highwater simulate` answers; written by make_results.py from tools/schemas/simulate.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain, values
from highwater.results.shared import AtPeakReserved, Budget, Counts, EstimateTerm, EstimateVariant, Events, FitHeldOutPredicted, Fragmentation, NotApplicable, OomPool, Trial


@dataclass(frozen=True)
class SimulateModel(Record):
    """A part of Simulate."""

    name: str
    family: str
    parameters: int
    trainable: int
    source: str


@dataclass(frozen=True)
class SimulateOom(Record):
    """A part of Simulate."""

    operation: int
    requested_bytes: int
    rounded_bytes: int
    segment_bytes: int
    device_free_bytes: int
    allowed_bytes: int | None
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int
    largest_free_block_bytes: int
    largest_usable_free_block_bytes: int
    pools: tuple[OomPool, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "pools": items(OomPool.from_json),
    }


@dataclass(frozen=True)
class SimulateOutsideAllocatorCommunicator(Record):
    """A part of Simulate."""

    axis: str
    ranks: int
    bytes: int


@dataclass(frozen=True)
class SimulateOutsideAllocator(Record):
    """A part of Simulate."""

    bytes: int
    context_bytes: int
    source: str
    communicators: tuple[SimulateOutsideAllocatorCommunicator, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "communicators": items(SimulateOutsideAllocatorCommunicator.from_json),
    }


@dataclass(frozen=True)
class SimulateStep(Record):
    """A part of Simulate."""

    step: int
    peak: FitHeldOutPredicted
    complete: bool

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class SimulatePhase(Record):
    """A part of Simulate."""

    step: int | None
    phase: str
    peak: FitHeldOutPredicted
    end: FitHeldOutPredicted

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peak": FitHeldOutPredicted.from_json,
        "end": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class SimulatePeakMoment(Record):
    """A part of Simulate."""

    step: int
    phase: str


@dataclass(frozen=True)
class SimulateHoldersAtPeak(Record):
    """A part of Simulate."""

    operator: str
    autograd: str
    module: str
    requested_bytes: int
    blocks: int


@dataclass(frozen=True)
class SimulateOutOfMemory(Record):
    """A part of Simulate."""

    operator: str
    autograd: str
    module: str
    step: int
    phase: str


@dataclass(frozen=True)
class SimulateRemedy(Record):
    """A part of Simulate."""

    options: str
    costs: tuple[str, ...]
    fits: bool
    peak_reserved_bytes: int
    available_bytes: int
    spare_bytes: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "costs": items(plain),
    }


@dataclass(frozen=True)
class SimulateEstimateBridgeLineLargest(Record):
    """A part of Simulate."""

    what: str
    bytes: int
    blocks: int


@dataclass(frozen=True)
class SimulateEstimateBridgeLine(Record):
    """A part of Simulate."""

    name: str
    terms: tuple[str, ...]
    estimated_bytes: int
    simulated_bytes: int
    to_add_bytes: int
    largest: tuple[SimulateEstimateBridgeLineLargest, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "terms": items(plain),
        "largest": items(SimulateEstimateBridgeLineLargest.from_json),
    }


@dataclass(frozen=True)
class SimulateEstimateBridge(Record):
    """A part of Simulate."""

    estimated_bytes: int
    simulated_bytes: int
    to_add_bytes: int
    lines: tuple[SimulateEstimateBridgeLine, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "lines": items(SimulateEstimateBridgeLine.from_json),
    }


@dataclass(frozen=True)
class SimulateEstimate(Record):
    """A part of Simulate."""

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
    compared_with: str
    simulated_peak_bytes: int
    difference_bytes: int
    error_vs_simulated: float
    covered_bytes: int
    error_vs_covered: float
    bridge: SimulateEstimateBridge

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "broken_assumptions": items(plain),
        "terms": items(EstimateTerm.from_json),
        "variants": items(EstimateVariant.from_json),
        "bridge": SimulateEstimateBridge.from_json,
    }


@dataclass(frozen=True)
class SimulateRankPlace(Record):
    """A part of Simulate."""

    dp: int
    tp: int
    pp: int
    cp: int


@dataclass(frozen=True)
class SimulateRank(Record):
    """A part of Simulate."""

    rank: int
    ranks: int
    place: SimulateRankPlace
    what: str
    peak: FitHeldOutPredicted
    fits: bool | None
    is_worst: bool

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "place": SimulateRankPlace.from_json,
        "peak": FitHeldOutPredicted.from_json,
    }


@dataclass(frozen=True)
class SimulateFindBatch(Record):
    """A part of Simulate."""

    largest: int
    smallest_failing: int
    limit: int
    trials: tuple[Trial, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "trials": items(Trial.from_json),
    }


@dataclass(frozen=True)
class SimulateHostMemoryBuffer(Record):
    """A part of Simulate."""

    what: str
    kind: str
    blocks: int
    requested_bytes: int
    taken_bytes: int


@dataclass(frozen=True)
class SimulateHostMemoryNodePeak(Record):
    """A part of Simulate."""

    part: str
    pinned_bytes: int
    pageable_bytes: int
    rank_bytes: int
    node_bytes: int


@dataclass(frozen=True)
class SimulateHostMemoryNode(Record):
    """A part of Simulate."""

    ranks: int
    peaks: tuple[SimulateHostMemoryNodePeak, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "peaks": items(SimulateHostMemoryNodePeak.from_json),
    }


@dataclass(frozen=True)
class SimulateHostMemory(Record):
    """A part of Simulate."""

    requested_bytes: int
    taken_bytes: int
    pinned_bytes: int
    pageable_bytes: int
    cached_bytes: int
    buffers: tuple[SimulateHostMemoryBuffer, ...]
    node: SimulateHostMemoryNode | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "buffers": items(SimulateHostMemoryBuffer.from_json),
        "node": SimulateHostMemoryNode.from_json,
    }


@dataclass(frozen=True)
class SimulateOptimizerBucketsRight(Record):
    """A part of Simulate."""

    bucket_mb: float
    buckets: int
    elements: int
    empty_bytes: int


@dataclass(frozen=True)
class SimulateOptimizerBuckets(Record):
    """A part of Simulate."""

    bucket_mb: float
    buckets: int
    elements: int
    empty_bytes: int
    filled_elements: int
    right: SimulateOptimizerBucketsRight | None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "right": SimulateOptimizerBucketsRight.from_json,
    }


@dataclass(frozen=True)
class SimulateImbalanceCategory(Record):
    """A part of Simulate."""

    category: str
    more_bytes: int


@dataclass(frozen=True)
class SimulateImbalance(Record):
    """A part of Simulate."""

    between: str
    most_rank: int
    least_rank: int
    bytes: int
    categories: tuple[SimulateImbalanceCategory, ...]
    cause: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "categories": items(SimulateImbalanceCategory.from_json),
    }


@dataclass(frozen=True)
class Simulate(Result):
    """What `highwater simulate --format json` prints."""

    schema: str
    model: SimulateModel
    plan: dict[str, str | float | tuple[int, ...] | bool | None]
    fits: bool | None
    verdict: str
    device: int
    peak: FitHeldOutPredicted
    at_peak_reserved: AtPeakReserved
    final: FitHeldOutPredicted
    counts: Counts
    fragmentation: Fragmentation
    settings: str
    torch: str
    capacity_bytes: int | None
    events: Events
    truncated: bool
    ooms: tuple[SimulateOom, ...]
    ooms_listed: int
    notes: tuple[str, ...]
    available_bytes: int | None
    outside_allocator: SimulateOutsideAllocator
    first_step_peak: FitHeldOutPredicted
    steady_peak: FitHeldOutPredicted | None
    steps: tuple[SimulateStep, ...]
    phases: tuple[SimulatePhase, ...]
    breakdown_at_peak: dict[str, int]
    peak_moment: SimulatePeakMoment
    holders_at_peak: tuple[SimulateHoldersAtPeak, ...]
    out_of_memory: SimulateOutOfMemory | None
    needed_bytes: int | None
    is_margin_thin: bool | None
    remedies: tuple[SimulateRemedy, ...] | None
    nearest_remedy: SimulateRemedy | None
    wider_margins: tuple[SimulateRemedy, ...]
    gpus_that_hold: tuple[str, ...] | None
    parts_at_peak: dict[str, int]
    estimates: tuple[SimulateEstimate, ...]
    estimates_compared_with_complete_run: bool
    estimates_not_applicable: tuple[NotApplicable, ...]
    rank: int
    ranks: tuple[SimulateRank, ...]
    rank_classes: int
    trust: str
    find_batch: SimulateFindBatch | None = None
    host_memory: SimulateHostMemory | None = None
    optimizer_buckets: SimulateOptimizerBuckets | None = None
    budget: Budget | None = None
    memory_limit_bytes: int | None = None
    imbalance: tuple[SimulateImbalance, ...] | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "model": SimulateModel.from_json,
        "plan": values(plain),
        "peak": FitHeldOutPredicted.from_json,
        "at_peak_reserved": AtPeakReserved.from_json,
        "final": FitHeldOutPredicted.from_json,
        "counts": Counts.from_json,
        "fragmentation": Fragmentation.from_json,
        "events": Events.from_json,
        "ooms": items(SimulateOom.from_json),
        "notes": items(plain),
        "outside_allocator": SimulateOutsideAllocator.from_json,
        "first_step_peak": FitHeldOutPredicted.from_json,
        "steady_peak": FitHeldOutPredicted.from_json,
        "steps": items(SimulateStep.from_json),
        "phases": items(SimulatePhase.from_json),
        "peak_moment": SimulatePeakMoment.from_json,
        "holders_at_peak": items(SimulateHoldersAtPeak.from_json),
        "out_of_memory": SimulateOutOfMemory.from_json,
        "remedies": items(SimulateRemedy.from_json),
        "nearest_remedy": SimulateRemedy.from_json,
        "wider_margins": items(SimulateRemedy.from_json),
        "gpus_that_hold": items(plain),
        "estimates": items(SimulateEstimate.from_json),
        "estimates_not_applicable": items(NotApplicable.from_json),
        "ranks": items(SimulateRank.from_json),
        "find_batch": SimulateFindBatch.from_json,
        "host_memory": SimulateHostMemory.from_json,
        "optimizer_buckets": SimulateOptimizerBuckets.from_json,
        "budget": Budget.from_json,
        "imbalance": items(SimulateImbalance.from_json),
    }
