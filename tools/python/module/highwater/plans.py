"""Questions about a training plan, whose options are keywords named as the program's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from highwater._options import Option
from highwater._question import Question

if TYPE_CHECKING:
    from highwater.results import Estimate, Models, Plan, Simulate


def simulate(**options: Option) -> Simulate:
    """Simulates training a model: its peak memory, what it is made of, and whether it fits.

    >>> hw.simulate(model="llama-3-8b", seq=4096, precision="bf16", gpu="h100-80", find_batch=True)
    """
    from highwater.results import Simulate

    return Simulate.of(Question("simulate", (), options))


def estimate(**options: Option) -> Estimate:
    """Evaluates the published closed forms for a plan, term by term, without simulating."""
    from highwater.results import Estimate

    return Estimate.of(Question("estimate", (), options))


def plan(**options: Option) -> Plan:
    """Finds the best strategy and the largest batch on the GPUs given."""
    from highwater.results import Plan

    return Plan.of(Question("plan", (), options))


def models(name: str | None = None, **options: Option) -> Models:
    """Lists the known models, or shows the details of one."""
    from highwater.results import Models

    return Models.of(Question("models", () if name is None else (name,), options))


def export(output: str | os.PathLike[str], **options: Option) -> str:
    """Writes the run of a plan for other tools, as a memory snapshot by default; returns what was written.

    >>> hw.export("planned.pickle", model="gpt2", batch=8, gpu="v100-16")
    """
    return Question("export", (), {"output": output, **options}).text()
