"""A plain loop: what a user writes around a model of transformers."""
from .. import scripts
from ..plan import Job, Refused
from ..tensor_plans import tensor_plan
from .common import averaged, common, evaluation, optional, require_block, require_one, require_tokens, untrained, with_cache, with_checkpoint
from .deepspeed import STAGES, deepspeed
from .pipeline import pipeline
from .sharding import ddp_keywords, flat_sharding, full_sharding
from .turns import turns

# What is sharded from meta is made there, as the script of a user does, wherever the model is said to begin.
INITS = {"none": ("cpu", "device"), "ddp": ("cpu", "device"), "tensor": ("cpu", "device"), "fsdp1": ("cpu",),
         "fsdp2": ("cpu", "meta")}


def plain(plan, model):
    if model.turns:
        return turns(plan, model)
    if plan["dp_kind"] in STAGES:
        return deepspeed(plan, model)
    if plan["pp"] > 1:
        return pipeline(plan, model)
    job = common(plan, model)
    plan.one_of("loss", "hf", "contrastive")
    spread = spreading(plan, model)
    offload = plan.one_of("offload", "none", "activations", *(["params"] if spread["sharding"] in ("fsdp1", "fsdp2") else []))
    job.update(
        model=with_cache(plan, model), init=plan.one_of("init", *INITS[spread["sharding"]]),
        float8=plan["float8"], keeps_outputs=plan["keep_logits"],
        names_tensors=(plan["framework"] == "torch" or plan["cp"] > 1) and not model.data,
        implementation=optional(plan["optimizer_impl"]), param_groups=plan["param_groups"],
        zeroes_at=plan.one_of("zero_grad_at", "end", "start", "backward"), set_to_none=plan["set_to_none"],
        empties_cache=plan["empty_cache_every_step"], offloads_parameters=offload == "params",
        offloads_activations=offload == "activations", evaluation=evaluation(plan, model), averages=averaged(plan),
        **untrained(plan), **spread)
    return Job(scripts.plain_script(job), {**with_checkpoint(job["model"], job), **scripts.teacher_files(job["teacher"])}, job["ranks"])


def spreading(plan, model):
    """How a plain script spreads the model over ranks."""
    require_one(plan, "ep")
    kind = plan.one_of("dp_kind", "ddp", "fsdp1", "fsdp2")
    if plan["cp"] > 1:
        return context_parallel(plan, model, kind)
    if plan["tp"] > 1:
        return tensor_parallel(plan, model, kind)
    if plan["dp"] == 1 and kind == "ddp":
        return {"sharding": "none", "ranks": 1}
    if kind == "ddp":
        require_one(plan, "dp_replicate")
        return {"sharding": "ddp", "ranks": plan["dp"], "ddp": ddp_keywords(plan),
                "redundancy": plan.one_of("zero_redundancy", "none", "parameters", "buckets")}
    require_block(model, "FSDP")
    return {"sharding": kind, "ranks": plan["dp"], "replicas": plan["dp_replicate"],
            **(flat_sharding(plan) if kind == "fsdp1" else full_sharding(plan))}


def context_parallel(plan, model, kind):
    """context_parallel() around a loop whose parameters fully_shard cuts over all ranks."""
    require_one(plan, "tp", "dp_replicate")
    require_tokens(plan, model)
    if kind != "fsdp2":
        raise Refused(f"--cp {plan['cp']} with --dp-kind {kind}: --engine torch spreads sequences beside fully_shard only; "
                      "use --dp-kind fsdp2")
    require_block(model, "fully_shard")
    return {"sharding": kind, "ranks": plan["dp"] * plan["cp"], "context_ranks": plan["cp"], **full_sharding(plan)}


def tensor_parallel(plan, model, kind):
    plan.one_of("tp_kind", "dtensor", "megatron")  # the latter is the default, and not transformers'
    plan.refuse_changed("sp", "loss_parallel", "lora", "peft")
    if plan["dp"] > 1 and kind != "fsdp2":
        raise Refused(f"--tp {plan['tp']} with --dp-kind {kind}: --engine torch splits tensors beside fully_shard only; "
                      "use --dp-kind fsdp2, or omit --dp")
    split = {"tensor_ranks": plan["tp"], "tensor_plan": tensor_plan(model)}
    if plan["dp"] == 1:
        return {"sharding": "tensor", "ranks": plan["tp"], **split}
    require_one(plan, "dp_replicate")
    require_block(model, "FSDP")
    return {"sharding": kind, "ranks": plan["dp"] * plan["tp"], **split, **full_sharding(plan)}
