"""How much GPU memory a PyTorch training run takes, why, and what would change it.

    import highwater as hw

    hw.load("snapshot.pickle").explain()                      # why it ran out of memory
    hw.load(torch.cuda.memory._snapshot()).replay(alloc_conf="expandable_segments:True")
    hw.simulate(model="llama-3-8b", seq=4096, precision="bf16", gpu="h100-80", find_batch=True)

Every answer has the keys and numbers of the program's JSON as fields; `print()` shows the program's
table, a notebook its pictures. Options are keywords named as the program's. Whatever is wrong with an
input or a keyword is an `hw.InputError`. Ctrl-C ends a call, and `hw.show_progress(True)` shows on
standard error how far a long one is.
"""

from __future__ import annotations

from highwater._errors import InputError, UsageError
from highwater._native import __version__ as __version__
from highwater._native import show_progress
from highwater.deepspeed import (
    estimate_zero2_model_states_mem_needs,
    estimate_zero2_model_states_mem_needs_all_cold,
    estimate_zero2_model_states_mem_needs_all_live,
    estimate_zero3_model_states_mem_needs,
    estimate_zero3_model_states_mem_needs_all_cold,
    estimate_zero3_model_states_mem_needs_all_live,
)
from highwater._parameters import parameters
from highwater.jobs import phases, scan, validate
from highwater.plans import chance, estimate, export, gpus, models, plan, simulate, solve, sweep
from highwater.recording import Recording, load
from highwater.scaling import Program, fit
from highwater._tasks import Part, Task, merge, tasks
from highwater._watch import watch

__all__ = [
    "InputError",
    "Part",
    "Program",
    "Recording",
    "Task",
    "UsageError",
    "chance",
    "estimate",
    "estimate_zero2_model_states_mem_needs",
    "estimate_zero2_model_states_mem_needs_all_cold",
    "estimate_zero2_model_states_mem_needs_all_live",
    "estimate_zero3_model_states_mem_needs",
    "estimate_zero3_model_states_mem_needs_all_cold",
    "estimate_zero3_model_states_mem_needs_all_live",
    "export",
    "fit",
    "gpus",
    "load",
    "merge",
    "models",
    "parameters",
    "phases",
    "plan",
    "scan",
    "show_progress",
    "simulate",
    "solve",
    "sweep",
    "tasks",
    "validate",
    "watch",
]
