"""Megatron-LM's own parser: arguments.py of a checkout on PYTHONPATH, with validate_args()."""

import os
import shlex
import sys
import typing

import typing_extensions
import yaml

if not hasattr(typing, "override"):
    setattr(typing, "override", typing_extensions.override)  # Megatron-LM is for Python 3.12; its parser runs under 3.11

from megatron.training.arguments import parse_args, validate_args  # noqa: E402

def strategy_of(arguments):
    sharding = getattr(arguments, "data_parallel_sharding_strategy", "no_shard")
    if getattr(arguments, "use_megatron_fsdp", False):
        return f"megatron-fsdp {sharding}"
    if getattr(arguments, "use_torch_fsdp2", False):
        return "fsdp2"
    shards = arguments.use_distributed_optimizer or getattr(arguments, "use_layer_wise_distributed_optimizer", False)
    return "zero1" if shards else "ddp"


def words_of_tests(text):
    """tests/functional_tests/shell_test_utils: a true flag is named, a false one left out."""
    words = []
    for name, value in yaml.safe_load(text)["MODEL_ARGS"].items():
        if value is not False:
            words += [name] if value is True else [name, *shlex.split(str(value))]
    return words


def ranks_for(arguments, ranks):
    """As many as the request says, or as the degrees need."""
    degrees = (arguments.tensor_model_parallel_size * arguments.pipeline_model_parallel_size *
               arguments.context_parallel_size)
    return ranks if ranks % (degrees * arguments.expert_model_parallel_size) == 0 else \
        degrees * arguments.expert_model_parallel_size


def meaning(request):
    os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"  # their launchers set it, and the parser asks
    files = request["files"]
    words = words_of_tests(files["model_config.yaml"]) if "model_config.yaml" in files else request["argv"]
    sys.argv = ["pretrain_gpt.py", *words]
    arguments = parse_args()
    arguments.world_size = ranks_for(arguments, request["ranks"])
    validate_args(arguments)
    split = arguments.data_parallel_size * arguments.micro_batch_size
    return {"batch": arguments.micro_batch_size, "sequence": arguments.seq_length,
            "accumulation": arguments.global_batch_size // split,
            "weights": "bf16" if arguments.bf16 else "fp16" if arguments.fp16 else "fp32",
            "recompute": str(arguments.recompute_granularity or "none"), "clip": float(arguments.clip_grad),
            "optimizer": {"adam": "adamw"}.get(arguments.optimizer, arguments.optimizer), "strategy": strategy_of(arguments),
            "tensor": arguments.tensor_model_parallel_size, "pipeline": arguments.pipeline_model_parallel_size,
            "context": arguments.context_parallel_size, "expert": arguments.expert_model_parallel_size,
            "ranks": arguments.data_parallel_size, "layers": arguments.num_layers, "hidden": arguments.hidden_size}
