"""What transformers' TrainingArguments say, for the programs that have them."""

from words import offload_of, optimizer_of, zero_of


def strategy_of(arguments):
    if getattr(arguments, "hf_deepspeed_config", None) is not None:
        return zero_of(arguments.hf_deepspeed_config.config)
    plugin = getattr(arguments, "fsdp_plugin_args", None)
    if arguments.fsdp:
        said = dict(arguments.fsdp_config or {})
        version = int(said.get("version", said.get("fsdp_version", 2 if plugin is None else plugin.get("fsdp_version", 2))))
        host = "offload" in str(arguments.fsdp) or str(said.get("cpu_offload", said.get("offload_params", False))).lower() == "true"
        return {"strategy": f"fsdp{version}", "offload": offload_of(False, host)}
    return {"strategy": "ddp", "offload": "none"}


def autocast_of(arguments):
    if getattr(arguments, "hf_deepspeed_config", None) is not None:
        return {}  # DeepSpeed has its own mixed precision
    return {"autocast": "bf16" if arguments.bf16 else "fp16" if arguments.fp16 else "none"}


def meaning_of(arguments):
    return {"batch": arguments.per_device_train_batch_size, "accumulation": arguments.gradient_accumulation_steps,
            "checkpointing": bool(arguments.gradient_checkpointing), "clip": float(arguments.max_grad_norm or 0),
            **optimizer_of(arguments.optim), **autocast_of(arguments), **strategy_of(arguments)}
