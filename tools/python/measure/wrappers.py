"""The distributed wrapper of a case: the lines that scripts of --engine torch have for it (highwater_engine/scripts)."""

import functools

from highwater_engine import models as scripted
from highwater_engine import scripts
from highwater_engine.readers.sharding import ddp_keywords, flat_keywords

from . import models
from .tensor_parallel import tensor_plan

SHARDINGS = {"none": "none", "ddp": "ddp", "fsdp1": "fsdp1", "fsdp2": "fsdp2", "tp": "tensor", "fsdp2+tp": "fsdp2"}


def dtype_of(torch, name):
    """None stays None: no mixed precision."""
    return {None: None, "bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[name]


def block_of(model):
    """(module, class) of the repeated block."""
    kind = type(models.blocks_of(model)[0])
    return kind.__module__, kind.__name__


def ranks_of(dist):
    """(all, those that share a model's tensors)"""
    if dist["kind"] == "fsdp2+tp":
        return dist["dp"] * dist["tp"], dist["tp"]
    ranks = dist.get("world", 1)
    return ranks, ranks if dist["kind"] == "tp" else 1


def flat_options(dist):
    mixed = dist.get("mp")
    return {"param_dtype": mixed, "reduce_dtype": dist.get("reduce", "fp32") if mixed else None,
            "keeps_parameters": dist.get("use_orig_params", True),
            "strategy": flat_keywords({"strategy": dist.get("strategy", "FULL_SHARD").lower(), "backward_prefetch": "pre",
                                       "limit_all_gathers": dist.get("limit_all_gathers", True),
                                       "forward_prefetch": dist.get("forward_prefetch", False)})}


def replica_options(dist, device):
    given = {"bucket_cap_mb": dist.get("bucket_cap_mb", 25), "bucket_view": dist.get("bucket_view", False),
             "static_graph": dist.get("static_graph", False), "find_unused_parameters": dist.get("find_unused", False)}
    return {"ddp": ddp_keywords(given, "[rank]" if device == "cuda" else None)}


def full_options(dist):
    return {"param_dtype": dist.get("mp"), "reduce_dtype": dist.get("reduce"), "reshard": dist.get("reshard", True)}


def job_of(dist, model, device):
    """A case's "dist" as the engine says it."""
    kind = dist["kind"]
    if kind not in SHARDINGS:
        raise ValueError(f"dist.kind '{kind}' is unknown; use {', '.join(SHARDINGS)}")
    ranks, parts = ranks_of(dist)
    options = {"ddp": lambda: replica_options(dist, device), "fsdp1": lambda: flat_options(dist),
               "fsdp2": lambda: full_options(dist)}.get(SHARDINGS[kind], dict)()
    return {**scripts.DEFAULTS, "device": device, "sharding": SHARDINGS[kind], "model": scripted.Model("", "", "", block_of(model)),
            "ranks": ranks, "tensor_ranks": parts, "tensor_plan": tensor_plan(model, dist) if parts > 1 else None, **options}


def names_for(torch, model, device):
    """What the lines of a script find there."""
    return {"functools": functools, "model": model, "rank": 0 if device == "cuda" else torch.device(device), "torch": torch}


def wrap_model(torch, case, model, device, **more):
    """The module to call. more: of the job."""
    names = names_for(torch, model, device)
    exec(scripts.wrapping_alone({**job_of(case["dist"], model, device), **more}), names)
    if case["dist"]["kind"] == "ddp":
        keep_in_place(torch, names["model"])
    return names["model"]


def keep_in_place(torch, replica):
    """The fake group's all-reduce has no result to hand to the reducer; in place there is nothing to do."""
    def reduced(_, bucket):
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    if torch.distributed.get_backend() == "fake":
        replica.register_comm_hook(None, reduced)


def refill(torch, model):
    """Initialises a model whose storage was just created by to_empty()."""
    with torch.no_grad():
        for param in model.parameters():
            local = getattr(param, "_local_tensor", param)
            if local.numel():
                local.normal_(0, 0.02) if param.dim() > 1 else local.fill_(1.0)
        for name, buffer in model.named_buffers():
            if name.endswith("inv_freq"):
                steps = torch.arange(buffer.numel(), dtype=torch.float32) / buffer.numel()
                buffer.copy_((10000.0 ** -steps).to(buffer.dtype))
