"""axolotl's schema and its normalisation of a file, as on an H100. The model's config.json is not asked for."""

import transformers.utils
import yaml
from axolotl.utils.config import validate_config
from axolotl.utils.dict import DictDefault
from words import offload_of, optimizer_of, zero_of

transformers.utils.is_flash_attn_2_available = lambda *_, **__: True  # packages that are not installed here
GPU = {"bf16": True, "tf32": True, "fp8": True, "n_gpu": 1, "compute_capability": "sm_90"}


def quantization_of(config):
    if config.load_in_8bit:
        return "int8"
    return "nf4" if config.load_in_4bit else "none"


def strategy_of(config, files):
    if config.deepspeed:
        import json
        name = str(config.deepspeed).rpartition("/")[2]
        return zero_of(json.loads(files[name])) if name in files else {}
    if config.fsdp_config or config.fsdp:
        said = config.fsdp_config or {}
        version = config.fsdp_version or said.get("fsdp_version") or 1
        return {"strategy": f"fsdp{version}", "offload": offload_of(False, said.get("offload_params") or said.get("fsdp_offload_params"))}
    return {"strategy": "ddp", "offload": "none"}


def autocast_of(config):
    """core/builders/base.py: half types of TrainingArguments."""
    if config.bf16 in (True, "full"):
        return "bf16"
    return "fp16" if config.fp16 else "none"


def checkpoints_blocks(config):
    """FSDP's own checkpointing."""
    said = config.fsdp_config or {}
    return bool(said.get("activation_checkpointing") or said.get("fsdp_activation_checkpointing"))


def resolved(text, ranks):
    config = DictDefault(yaml.safe_load(text))
    config = validate_config(config, capabilities={**GPU, "n_gpu": ranks}, env_capabilities={"torch_version": "2.12.0"})
    return config


def meaning(request):
    config = resolved(request["files"]["axolotl.yaml"], request["ranks"])
    if config.adapter in ("lora", "qlora") and not config.lora_r:
        raise ValueError("PEFT takes no adapter without a rank")
    if config.bf16 == "auto":
        config.bf16, config.fp16 = not config.fp16, bool(config.fp16)
    accumulation = config.gradient_accumulation_steps or (config.batch_size // config.micro_batch_size)
    return {"batch": config.micro_batch_size, "accumulation": accumulation, "sequence": config.sequence_len,
            "autocast": autocast_of(config), "checkpointing": bool(config.gradient_checkpointing) or checkpoints_blocks(config),
            **optimizer_of(config.optimizer or "adamw_torch_fused"), "lora": config.lora_r if config.adapter in ("lora", "qlora") else 0,
            "quantize": quantization_of(config), "clip": float(1.0 if config.max_grad_norm is None else config.max_grad_norm),
            "context": config.context_parallel_size or 1, "tensor": config.tensor_parallel_size or 1,
            **strategy_of(config, request["files"])}
