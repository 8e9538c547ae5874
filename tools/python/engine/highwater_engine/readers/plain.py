"""A plain loop: what a user writes around a model of transformers."""
from .. import scripts
from ..plan import Job, Refused
from ..tensor_plans import tensor_plan
from .common import common, optional, require_block, require_one, with_cache
from .deepspeed import STAGES, deepspeed

# What is sharded from meta is made there, as the script of a user does, wherever the model is said to begin.
INITS = {"none": ("cpu", "device"), "ddp": ("cpu", "device"), "tensor": ("cpu", "device"), "fsdp1": ("cpu",),
         "fsdp2": ("cpu", "meta")}


def plain(plan, model):
    if plan["dp_kind"] in STAGES and plan["dp_kind"] != "ddp":
        return deepspeed(plan, model)
    job = common(plan, model)
    plan.one_of("loss", "hf")
    spread = spreading(plan, model)
    offload = plan.one_of("offload", "none", "activations", *(["params"] if spread["sharding"] in ("fsdp1", "fsdp2") else []))
    job.update(
        model=with_cache(plan, model), init=plan.one_of("init", *INITS[spread["sharding"]]),
        float8=plan["float8"], keeps_outputs=plan["keep_logits"], names_tensors=plan["framework"] == "torch" and not model.data,
        implementation=optional(plan["optimizer_impl"]), param_groups=plan["param_groups"],
        zeroes_at=plan.one_of("zero_grad_at", "end", "start"), set_to_none=plan["set_to_none"],
        empties_cache=plan["empty_cache_every_step"], offloads_parameters=offload == "params",
        offloads_activations=offload == "activations", **spread)
    return Job(scripts.plain_script(job), job["model"].files, job["ranks"])


def spreading(plan, model):
    """How a plain script spreads the model over ranks."""
    require_one(plan, "pp", "cp", "ep")
    kind = plan.one_of("dp_kind", "ddp", "fsdp1", "fsdp2")
    if plan["tp"] > 1:
        return tensor_parallel(plan, model, kind)
    if plan["dp"] == 1 and kind == "ddp":
        return {"sharding": "none", "ranks": 1}
    if kind == "ddp":
        require_one(plan, "dp_replicate")
        return {"sharding": "ddp", "ranks": plan["dp"], "ddp": ddp_keywords(plan)}
    require_block(model, "FSDP")
    return {"sharding": kind, "ranks": plan["dp"], "replicas": plan["dp_replicate"],
            **(flat_sharding(plan) if kind == "fsdp1" else full_sharding(plan))}


def tensor_parallel(plan, model, kind):
    plan.one_of("tp_kind", "dtensor", "megatron")  # the latter is the default, and not transformers'
    plan.refuse_changed("sp", "loss_parallel", "lora")
    if plan["dp"] > 1 and kind != "fsdp2":
        raise Refused(f"--tp {plan['tp']} with --dp-kind {kind}: --engine torch splits tensors beside fully_shard only; "
                      "use --dp-kind fsdp2, or omit --dp")
    split = {"tensor_ranks": plan["tp"], "tensor_plan": tensor_plan(model)}
    if plan["dp"] == 1:
        return {"sharding": "tensor", "ranks": plan["tp"], **split}
    require_one(plan, "dp_replicate")
    require_block(model, "FSDP")
    return {"sharding": kind, "ranks": plan["dp"] * plan["tp"], **split, **full_sharding(plan)}


def ddp_keywords(plan):
    given = {"bucket_cap_mb": optional(plan["bucket_cap_mb"]), "gradient_as_bucket_view": plan["bucket_view"],
             "static_graph": plan["static_graph"], "find_unused_parameters": plan["find_unused_parameters"]}
    return "".join(f", {name}={value}" for name, value in given.items() if value)


def full_sharding(plan):
    reshard = {"always": None, "all": True, "never": False}
    return {"param_dtype": optional(plan["param_dtype"]), "reduce_dtype": optional(plan["reduce_dtype"]),
            "reshard": reshard[plan.one_of("reshard", *reshard)]}


def flat_sharding(plan):
    computed, reduced = optional(plan["param_dtype"]), optional(plan["reduce_dtype"])
    return {"param_dtype": computed, "reduce_dtype": reduced or computed, "strategy": flat_keywords(plan),
            "keeps_parameters": plan["use_orig_params"]}


def flat_keywords(plan):
    """Further keywords of FullyShardedDataParallel."""
    prefetch = {"pre": None, "post": "BackwardPrefetch.BACKWARD_POST", "none": "None"}[plan["backward_prefetch"]]
    strategy = None if plan["strategy"] == "full_shard" else f"ShardingStrategy.{plan['strategy'].upper()}"
    given = {"sharding_strategy": strategy, "backward_prefetch": prefetch,
             "limit_all_gathers": None if plan["limit_all_gathers"] else False,
             "forward_prefetch": True if plan["forward_prefetch"] else None}
    return "".join(f", {name}={value}" for name, value in given.items() if value is not None) or None
