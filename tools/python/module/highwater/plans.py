"""Questions about a training plan, whose options are keywords named as the program's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from highwater._parameters import Parameters, parameters
from highwater._question import Question

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from highwater._keywords import (
        ChanceOptions,
        EstimateOptions,
        ExportOptions,
        PlanOptions,
        PlanSweepOptions,
        SimulateOptions,
        SolveOptions,
    )
    from highwater.results import Chance, Estimate, Gpus, Models, Plan, Simulate, Solve, Sweep


def simulate(model: Any = None, **options: Unpack[SimulateOptions]) -> Simulate:
    """Simulates training a model: its peak memory, what it is made of, and whether it fits.

    >>> hw.simulate(model="llama-3-8b", seq=4096, precision="bf16", gpu="h100-80", find_batch=True)

    `model` may be Python as well: a torch.nn.Module of transformers; a tuple of any module with its batch and, if it
    likes, `loss(outputs, batch)`; or a function that returns one of these and takes `batch` and `seq` if they are to
    vary. The PyTorch of this interpreter (or of `python`) then trains it in a process of its own, on a fake GPU.

    >>> hw.simulate(model=(net, torch.randn(8, 1024)), gpu="a100-40")
    """
    from highwater.results import Simulate

    return Simulate.of(plan_question("simulate", model, options))


def sweep(model: Any = None, **options: Unpack[PlanSweepOptions]) -> Sweep:
    """Simulates a plan under every combination of its options, of settings and of limits; `model` as for simulate().

    >>> hw.sweep(model="gpt2", gpu="3GiB", set={"batch": [1, 2, 4], "expandable_segments": [False, True]})
    """
    from highwater.results import Sweep

    return Sweep.of(plan_question("sweep", model, options))


def estimate(model: Any = None, **options: Unpack[EstimateOptions]) -> Estimate:
    """Evaluates the published closed forms for a plan, term by term, without simulating.

    `model` may be hw.parameters(net), or the torch.nn.Module itself, of any architecture: the forms about model states
    need no more. The others say that they do.

    >>> hw.estimate(model=hw.parameters(net), precision="bf16", dp=8, dp_kind="zero3")
    """
    from highwater.results import Estimate

    return Estimate.of(plan_question("estimate", _counted(model), options))


def chance(model: Any = None, **options: Unpack[ChanceOptions]) -> Chance:
    """Draws the lengths of a plan's batches at random, over many runs: how peak memory is distributed, how likely it
    runs out by a step, whether it still grows, and what would need less.

    >>> hw.chance(model="gpt2", batch=8, lengths="lognormal:median=300,sigma=0.6,max=1024", steps=2000, gpu="16GiB")
    """
    from highwater.results import Chance

    return Chance.of(plan_question("chance", model, options))


def plan(model: Any = None, **options: Unpack[PlanOptions]) -> Plan:
    """Finds the best strategy and the largest batch on the GPUs given; `model` as for simulate().

    >>> hw.plan(model="llama-3-8b", seq=4096, precision="bf16", gpu="h100-80", gpus=8)
    """
    from highwater.results import Plan

    return Plan.of(plan_question("plan", model, options))


def solve(fields: str | Sequence[str] = (), model: Any = None, **options: Unpack[SolveOptions]) -> Solve:
    """Finds the largest `batch`, `seq`, `hidden` size or `lora` rank, the least `memory`, the fewest `gpus` or the least
    recomputation (`checkpoint`) with which a plan fits, several fields in turn; `frontier` lists peak memory against
    recomputation. `model` as for simulate().

    >>> hw.solve("seq", model="llama-3-8b", precision="bf16", checkpoint="full", gpu="h100-80").fields[0].answer
    >>> hw.solve(["seq:1024", "batch"], model="gpt2", gpu="v100-16")
    >>> hw.solve(model="llama-3-8b", seq=4096, precision="bf16", frontier="checkpoint").to_pandas()
    """
    from highwater.results import Solve

    return Solve.of(plan_question("solve", model, {"for": fields, **options}))


def models(name: str | None = None) -> Models:
    """Lists the models that are known by name, or shows the sizes and parameters of one.

    >>> hw.models("llama-3-8b")
    """
    from highwater.results import Models

    return Models.of(Question("models", () if name is None else (name,), {}))


def gpus() -> Gpus:
    """Lists the GPUs that `gpu=` knows: memory in bytes as PyTorch reports it, compute capability, multiprocessors.

    >>> hw.gpus().to_pandas()
    """
    from highwater.results import Gpus

    return Gpus.of(Question("gpus", (), {}))


def export(output: str | os.PathLike[str], model: Any = None, **options: Unpack[ExportOptions]) -> str:
    """Writes the run of a plan for other tools, as a memory snapshot by default; returns what was written.

    >>> hw.export("planned.pickle", model="gpt2", batch=8, gpu="v100-16")
    """
    return plan_question("export", model, {"output": output, **options}).text()


def _counted(model: Any) -> Any:
    """Of a module, the parameters are enough."""
    return parameters(model) if hasattr(model, "named_parameters") else model


def plan_question(command: str, model: Any, options: Mapping[str, Any]) -> Question:
    if model is None or isinstance(model, (str, os.PathLike)):
        return Question(command, (), {"model": model, **options})
    if isinstance(model, Parameters):
        return Question(command, (), {"model": json.dumps(model.to_dict()), **options})
    from highwater._python_models import python_model

    made = python_model(model)
    return Question(command, (), {"model": made.word, "python": sys.executable, **options}, (made.held,))
