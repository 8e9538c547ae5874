"""accelerate's launcher: its file becomes arguments, these the environment, and that the plugins of a script."""

import os

from accelerate.commands import launch as command
from accelerate.utils import launch
from accelerate.utils.dataclasses import FullyShardedDataParallelPlugin
from words import offload_of, zero_of


ENVIRONMENTS = {"deepspeed_launcher": lambda arguments: launch.prepare_deepspeed_cmd_env(arguments)[1],
                "multi_gpu_launcher": launch.prepare_multi_gpu_env,
                "simple_launcher": lambda arguments: launch.prepare_simple_launcher_cmd_env(arguments)[1]}


def launched(words):
    """(launcher, arguments) that launch_command() starts."""
    started = []
    for name in ENVIRONMENTS:
        setattr(command, name, lambda arguments, name=name: started.append((name, arguments)))
    command.launch_command(command.launch_command_parser().parse_args(words))
    return started[0]


def deepspeed_of(environment):
    from accelerate.utils import DeepSpeedPlugin
    plugin = DeepSpeedPlugin()
    config = plugin.hf_ds_config.config if plugin.hf_ds_config is not None else plugin.deepspeed_config
    return {**zero_of(config), **({"accumulation": int(config["gradient_accumulation_steps"])}
                                  if str(config.get("gradient_accumulation_steps", "auto")).isdigit() else {})}


def fsdp_of(environment):
    plugin = FullyShardedDataParallelPlugin()
    offload = plugin.cpu_offload
    offloads = bool(getattr(offload, "offload_params", offload)) if plugin.fsdp_version == 1 else \
        type(offload).__name__ == "CPUOffloadPolicy" or offload is True
    more = {"sharding": str(plugin.sharding_strategy).rpartition(".")[2].lower()} if plugin.fsdp_version == 1 else {}
    return {"strategy": f"fsdp{plugin.fsdp_version}", "offload": offload_of(False, offloads),
            "checkpointing": bool(plugin.activation_checkpointing), **more}


def strategy_of(arguments, environment):
    if arguments.use_deepspeed:
        return deepspeed_of(environment)
    if arguments.use_fsdp:
        return fsdp_of(environment)
    return {"strategy": "ddp"}


def meaning(request):
    kept = dict(os.environ)
    try:
        launcher, arguments = launched([*request["argv"], "train.py"])
        os.environ.update({name: str(value) for name, value in ENVIRONMENTS[launcher](arguments).items()})
        autocast = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        ranks = int(arguments.num_processes or 1)
        return {**({} if arguments.use_deepspeed else {"autocast": "none" if autocast == "no" else autocast}), "gpus": ranks,
                **strategy_of(arguments, os.environ)}
    finally:
        os.environ.clear()
        os.environ.update(kept)
