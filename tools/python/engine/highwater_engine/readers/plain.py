"""A plain loop: what a user writes around a model of transformers."""
import dataclasses

from .. import scripts
from ..plan import Job
from .common import common, optional, require_one


def plain(plan, model):
    job = common(plan, model)
    plan.one_of("loss", "hf")
    sharding = sharding_of(plan)
    # What is sharded from meta is made there, as the script of a user does, wherever the model is said to begin.
    init = plan.one_of("init", *{"none": ("cpu", "device"), "ddp": ("cpu", "device"), "fsdp1": ("cpu",),
                                 "fsdp2": ("cpu", "meta")}[sharding["sharding"]])
    if job["lora"] and sharding["sharding"] in ("fsdp1", "fsdp2"):
        plan.refuse_changed("lora")
    prepare = model.prepare
    if not plan["use_cache"] and model.has_config:
        prepare = scripts.text(prepare, "config.use_cache = False")
    job.update(
        model=dataclasses.replace(model, prepare=prepare), init=init, keeps_outputs=plan["keep_logits"],
        names_tensors=plan["framework"] == "torch" and not model.data,
        implementation=optional(plan["optimizer_impl"]), param_groups=plan["param_groups"],
        zeroes_at=plan.one_of("zero_grad_at", "end", "start"), set_to_none=plan["set_to_none"], empties_cache=plan["empty_cache_every_step"],
        **sharding)
    return Job(scripts.plain_script(job), model.files, job["ranks"])


def sharding_of(plan):
    """How a plain script spreads the model over ranks."""
    require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    ranks, kind = plan["dp"], plan["dp_kind"]
    if ranks == 1 and kind == "ddp":
        return {"sharding": "none", "ranks": 1}
    if kind == "ddp":
        given = {"bucket_cap_mb": optional(plan["bucket_cap_mb"]), "gradient_as_bucket_view": plan["bucket_view"],
                 "static_graph": plan["static_graph"], "find_unused_parameters": plan["find_unused_parameters"]}
        return {"sharding": "ddp", "ranks": ranks,
                "ddp": "".join(f", {name}={value}" for name, value in given.items() if value)}
    plan.one_of("dp_kind", "ddp", "fsdp1", "fsdp2")
    types = {name: optional(plan[name]) for name in ("param_dtype", "reduce_dtype")}
    if kind == "fsdp1" and types["param_dtype"] and not types["reduce_dtype"]:
        types["reduce_dtype"] = types["param_dtype"]
    if kind == "fsdp1":
        return {"sharding": kind, "ranks": ranks, **types, "strategy": strategy(plan)}
    reshard = {"always": None, "all": True, "never": False}
    return {"sharding": kind, "ranks": ranks, **types, "reshard": reshard[plan.one_of("reshard", *reshard)]}


def strategy(plan):
    """Further keywords of FullyShardedDataParallel."""
    given = ""
    if plan["strategy"] != "full_shard":
        given += f", sharding_strategy=ShardingStrategy.{plan['strategy'].upper()}"
    if not plan["limit_all_gathers"]:
        given += ", limit_all_gathers=False"
    if plan["forward_prefetch"]:
        given += ", forward_prefetch=True"
    return given or None
