"""A script around accelerate's Accelerator: each model whole, or with FSDP2."""
import dataclasses

from .. import scripts
from ..plan import Job, Refused
from .common import averaged, common, evaluation, optional, require_block, require_one, require_tokens, untrained, with_cache, with_checkpoint

CONFIGURATION = "fsdp.yaml"


def mixed_precision(plan):
    """accelerate's word for FSDP's policy, which has one type for parameters and reductions."""
    computed, reduced = optional(plan["param_dtype"]), optional(plan["reduce_dtype"])
    if computed != reduced:
        raise Refused(f"--param-dtype {plan['param_dtype']} with --reduce-dtype {plan['reduce_dtype']}: accelerate's "
                      "mixed_precision has one type for both; use the same, or --framework hf")
    return computed or "no"


def accelerate(plan, model):
    """A model that is whole on each GPU."""
    job = common(plan, model)
    require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    plan.refuse_changed("no_sync", "mode")
    plan.one_of("loss", "hf", "contrastive")
    plan.one_of("dp_kind", "ddp")
    ranks = plan["dp"]
    job.update(model=with_cache(plan, model), init=plan.one_of("init", "cpu", "device"), ranks=ranks,
               examples=job["examples"] * ranks, mixed=job["autocast"] or "no",
               evaluation=evaluation(plan, model), averages=averaged(plan), **untrained(plan), **loop(plan))
    files = {**with_checkpoint(job["model"], job), **scripts.teacher_files(job["teacher"])}
    return Job(scripts.accelerate_script(job), files, ranks)


def loop(plan):
    """How the loop itself is written."""
    return {"keeps_outputs": plan["keep_logits"], "implementation": optional(plan["optimizer_impl"]),
            "param_groups": plan["param_groups"], "set_to_none": plan["set_to_none"],
            "zeroes_at": plan.one_of("zero_grad_at", "end", "start", "backward")}


def accelerate_fsdp2(plan, model):
    job = common(plan, model)
    require_one(plan, "tp", "pp", "ep", "dp_replicate")
    context_ranks = plan["cp"]
    if context_ranks > 1:
        require_tokens(plan, model)
        model = dataclasses.replace(model, constants=model.constants + ', labels=batch["shift_labels"]')
    plan.refuse_changed("no_sync", "mode")
    plan.one_of("loss", "hf")
    plan.one_of("precision", "fp32", "bf16", "amp-bf16")
    plan.one_of("dp_kind", "fsdp2")
    if plan["dp"] * context_ranks == 1:
        raise Refused("--dp 1: --engine torch runs accelerate's FSDP over several ranks; give --dp, or use --framework accelerate")
    require_block(model, "FSDP")
    reshards = plan.one_of("reshard", "always", "never") == "always"
    makes_plugin = plan.one_of("init", "cpu", "meta") == "cpu"
    job.update(model=with_cache(plan, model), ranks=plan["dp"] * context_ranks, context_ranks=context_ranks,
               shifted_labels='"shift_labels": tokens[1:], "position_ids": torch.arange({seq})', examples=job["examples"] * plan["dp"],
               sharding="fsdp2", mixed=mixed_precision(plan), makes_plugin=makes_plugin, **loop(plan),
               reshard=None if reshards else False)
    launched = {} if makes_plugin else scripts.fsdp_file(model.block[1], job["ranks"], job["mixed"], reshards)
    return Job(scripts.accelerate_script(job), {**job["model"].files, **launched}, job["ranks"],
               accelerate_config=CONFIGURATION if launched else "")
