"""Where the two answers differ, field by field, and whether --from said so itself."""

# Keys whose being not supported says that the field is not what the file means.
SAID = {"optimizer": ("optim",), "fused": ("optim",), "checkpointing": ("checkpoint", "recompute", "ac_"),
        "checkpoint": ("checkpoint", "recompute"), "recompute": ("checkpoint", "recompute"),
        "strategy": ("fsdp", "deepspeed", "zero", "shard", "data_parallel", "distributed"), "sharding": ("fsdp", "shard"),
        "offload": ("offload", "fsdp", "deepspeed"), "autocast": ("bf16", "fp16", "fp8", "precision"),
        "weights": ("bf16", "fp16", "dtype", "precision"), "tensor": ("tensor", "tp"), "context": ("context", "sequence_parallel"),
        "pipeline": ("pipeline",), "expert": ("expert",), "ranks": ("replicate", "data_parallel", "shard"),
        "gpus": ("replicate", "shard", "parallel"), "lora": ("adapter", "lora", "peft", "finetuning"), "quantize": ("quant", "bit"), "sequence": ("length", "seq"),
        "batch": ("batch",), "accumulation": ("batch", "accumulation"), "clip": ("clip", "norm")}


def is_equal(mine, own):
    if mine == "16 bits":
        return own in ("bf16", "fp16")
    return abs(mine - own) < 1e-9 if isinstance(own, float) else mine == own


def is_said(field, lacks):
    return any(part in key.replace("-", "_") for key in lacks for part in SAID[field])


def compared(own, mine):
    """{field: "alike", "said" or "mine / own"} of the fields that the program's own answer has and --from has, too."""
    result = {}
    for field, value in own["meaning"].items():
        if field not in mine["meaning"]:
            continue
        is_fused_elsewhere = field == "fused" and own["meaning"].get("optimizer") not in ("adamw", "adam")
        if is_fused_elsewhere or is_equal(mine["meaning"][field], value):
            result[field] = "alike"
        else:
            result[field] = "said" if is_said(field, mine["lacks"]) else f"{mine['meaning'][field]} / {value}"
    return result


def outcome_of(own, mine):
    """How a case ended: compared, or who refused."""
    if "failed" in own:
        return "failed"
    if "refused" in own:
        return "both refuse" if "refused" in mine else "own refuses"
    return "refused" if "refused" in mine else "compared"
