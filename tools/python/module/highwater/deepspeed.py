"""DeepSpeed's estimators of model states, by name and signature, without DeepSpeed.

A script changes its import from deepspeed.runtime.zero.stage_1_and_2 (or stage3) to this module. The
figures are those of deepspeed/runtime/zero/stage_1_and_2.py and stage3.py since June 2024. Unlike
DeepSpeed's, the live estimators count a model on the meta device as well, and return what they print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from highwater import _native
from highwater._parameters import parameters

if TYPE_CHECKING:
    import torch


class ModelStates(NamedTuple):
    """What model states take under one choice of options: bytes of a node's host, and of each GPU."""

    cpu_bytes: int
    gpu_bytes: int
    options: str

    def __str__(self) -> str:
        return f" {self.cpu_bytes / 2**30:7.2f}GB | {self.gpu_bytes / 2**30:6.2f}GB | {self.options}"


def estimate_zero2_model_states_mem_needs(
    total_params: float,
    num_gpus_per_node: int = 1,
    num_nodes: int = 1,
    cpu_offload: bool = True,
    additional_buffer_factor: float = 1.5,
) -> tuple[int, int]:
    """(bytes of a node's host, bytes of a GPU) under ZeRO-2."""
    return _native.zero2(total_params, num_gpus_per_node, num_nodes, cpu_offload, additional_buffer_factor)


def estimate_zero3_model_states_mem_needs(
    total_params: float,
    largest_layer_params: float,
    num_gpus_per_node: int = 1,
    num_nodes: int = 1,
    cpu_offload: bool = True,
    cpu_offload_params: bool = True,
    zero_init: bool = True,
    additional_buffer_factor: float = 1.5,
) -> tuple[int, int, float]:
    """(bytes of a node's host, bytes of a GPU, of which the largest layer takes) under ZeRO-3."""
    cpu, gpu = _native.zero3(total_params, largest_layer_params, num_gpus_per_node, num_nodes, cpu_offload,
                             cpu_offload_params, zero_init, additional_buffer_factor)
    return cpu, gpu, 4 * largest_layer_params


def estimate_zero2_model_states_mem_needs_all_cold(
    total_params: float,
    num_gpus_per_node: int = 1,
    num_nodes: int = 1,
    additional_buffer_factor: float = 1.5,
) -> tuple[ModelStates, ...]:
    """Prints and returns what ZeRO-2 takes for so many parameters, with and without offloading."""
    rows = tuple(
        ModelStates(*estimate_zero2_model_states_mem_needs(
            total_params, num_gpus_per_node, num_nodes, offload, additional_buffer_factor),
            f"offload_optimizer={_device(offload)}")
        for offload in (True, False))
    return _print(f"{_millions(total_params)} total params", num_gpus_per_node, num_nodes, rows)


def estimate_zero3_model_states_mem_needs_all_cold(
    total_params: float,
    largest_layer_params: float,
    num_gpus_per_node: int = 1,
    num_nodes: int = 1,
    additional_buffer_factor: float = 1.5,
) -> tuple[ModelStates, ...]:
    """Prints and returns what ZeRO-3 takes, for every choice of offloading and zero.Init."""
    rows = []
    for offload, params in ((True, True), (True, False), (False, False)):
        for zero_init in (True, False):
            cpu, gpu, _ = estimate_zero3_model_states_mem_needs(
                total_params, largest_layer_params, num_gpus_per_node, num_nodes, offload, params, zero_init,
                additional_buffer_factor)
            rows.append(ModelStates(cpu, gpu, f"offload_param={_device(params)}, "
                                              f"offload_optimizer={_device(offload)}, zero_init={int(zero_init)}"))
    model = f"{_millions(total_params)} total params, {_millions(largest_layer_params)} largest layer params"
    return _print(model, num_gpus_per_node, num_nodes, rows)


def estimate_zero2_model_states_mem_needs_all_live(
    model: torch.nn.Module,
    num_gpus_per_node: int = 1,
    num_nodes: int = 1,
    additional_buffer_factor: float = 1.5,
) -> tuple[ModelStates, ...]:
    """The same as the cold one prints, for a torch.nn.Module on any device, meta included."""
    total, _ = parameters(model)
    return estimate_zero2_model_states_mem_needs_all_cold(
        total, num_gpus_per_node, num_nodes, additional_buffer_factor)


def estimate_zero3_model_states_mem_needs_all_live(
    model: torch.nn.Module,
    num_gpus_per_node: int = 1,
    num_nodes: int = 1,
    additional_buffer_factor: float = 1.5,
) -> tuple[ModelStates, ...]:
    """The same as the cold one prints, for a torch.nn.Module on any device, meta included."""
    total, largest = parameters(model)
    return estimate_zero3_model_states_mem_needs_all_cold(
        total, largest, num_gpus_per_node, num_nodes, additional_buffer_factor)


def _device(offload: bool) -> str:
    return "cpu " if offload else "none"


def _millions(count: float) -> str:
    return f"{int(count / 1e6)}M"


def _print(
    model: str, gpus_per_node: int, nodes: int, rows: Sequence[ModelStates]
) -> tuple[ModelStates, ...]:
    """In the words of DeepSpeed, so that what reads its output goes on reading it."""
    node = "nodes" if nodes > 1 else "node"
    gpu = "GPUs" if gpus_per_node > 1 else "GPU"
    print("Estimated memory needed for params, optim states and gradients for a:")
    print(f"HW: Setup with {nodes} {node}, {gpus_per_node} {gpu} per node.")
    print(f"SW: Model with {model}.")
    print("  per CPU  |  per GPU |   Options")
    for row in rows:
        print(row)
    return tuple(rows)
