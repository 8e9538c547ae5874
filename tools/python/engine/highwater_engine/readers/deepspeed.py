"""A plain loop around DeepSpeed's engine."""
from .. import scripts
from ..plan import Job, Refused
from .common import common, optional, require_one, with_cache

STAGES = {"zero0": 0, "zero1": 1, "zero2": 2, "zero3": 3}

# Members of "zero_optimization": the option that says them, which of them only stage 3 has.
MEMBERS = {"overlap_comm": "overlap_comm", "reduce_bucket_size": "reduce_bucket_size",
           "contiguous_gradients": "contiguous_gradients", "reduce_scatter": "reduce_scatter",
           "round_robin_gradients": "round_robin_gradients", "sub_group_size": "sub_group_size",
           "stage3_prefetch_bucket_size": "prefetch_bucket_size",
           "stage3_param_persistence_threshold": "param_persistence_threshold",
           "stage3_model_persistence_threshold": "model_persistence_threshold",
           "stage3_max_live_parameters": "max_live_parameters", "stage3_max_reuse_distance": "max_reuse_distance",
           "zero_hpz_partition_size": "hpz_partition_size"}
OFFLOADS = {"none": (), "optimizer": ("offload_optimizer",), "params": ("offload_param",),
            "both": ("offload_optimizer", "offload_param")}


def zero_optimization(plan, stage):
    offloaded = OFFLOADS[plan.one_of("offload", *OFFLOADS)]
    if "offload_param" in offloaded and stage != 3:
        raise Refused(f"--offload {plan['offload']}: DeepSpeed offloads parameters in stage 3 only; use --dp-kind zero3")
    for option in ("offload_optimizer_device", "offload_param_device"):
        if plan[option] == "nvme":
            raise Refused(f"--{option.replace('_', '-')} nvme: DeepSpeed compiles async_io for it; use --engine model")
    plan.refuse_changed("offload_ratio")  # which needs DeepSpeed's own optimizer
    said = {member: plan[option] for member, option in MEMBERS.items() if plan.is_changed(option)}
    pinned = {"pin_memory": plan["pin_memory"]} if plan.is_changed("pin_memory") else {}
    return {**said, **{name: {"device": "cpu", **pinned} for name in offloaded}}


def deepspeed(plan, model):
    """Also the loops of others with --dp-kind zero0, zero1, zero2 or zero3."""
    job = common(plan, model)
    require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    plan.one_of("precision", "fp32", "bf16", "fp16")
    plan.one_of("loss", "hf")
    plan.refuse_changed("no_sync", "mode", "zero_grad_at")
    if plan["dp"] == 1:
        raise Refused("--dp 1: --engine torch runs DeepSpeed over several ranks; give --dp, or omit --framework deepspeed")
    stage = STAGES[plan.one_of("dp_kind", *STAGES)]
    if plan["zero_init"] and stage != 3:
        raise Refused("--zero-init: deepspeed.zero.Init() is for stage 3; use --dp-kind zero3")
    if plan["optimizer_impl"] == "deepspeed":
        raise Refused("--optimizer-impl deepspeed: DeepSpeed compiles its optimizers when they are made, which needs nvcc; "
                      "use fused, or --engine model")
    job.update(model=with_cache(plan, model), ranks=plan["dp"], examples=job["examples"], stage=stage,
               zero=zero_optimization(plan, stage), zero_init=plan["zero_init"],
               init=plan.one_of("init", "device", "cpu"), keeps_outputs=plan["keep_logits"],
               names_tensors=plan["framework"] != "hf" and not model.data,
               implementation=optional(plan["optimizer_impl"]), param_groups=plan["param_groups"])
    return Job(scripts.deepspeed_script(job), {**job["model"].files, **scripts.deepspeed_file(job)}, job["ranks"])
