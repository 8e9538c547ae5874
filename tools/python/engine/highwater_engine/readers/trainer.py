"""transformers' Trainer and TRL's SFTTrainer."""
from .. import scripts
from ..plan import Job, Refused
from .common import common, require_one, with_checkpoint


def trained(plan, model, *kinds):
    """What Trainer and SFTTrainer share; the rest they decide themselves."""
    job = common(plan, model)
    require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    plan.refuse_changed("no_sync", "checkpoint_impl", "mode")
    kind, ranks = plan.one_of("dp_kind", *kinds), plan["dp"]
    arguments = [f"max_steps={plan['steps']}"]
    if plan.is_changed("grad_clip"):
        arguments.append(f"max_grad_norm={job['clip'] or 0}")
    sharding = kind if ranks > 1 or kind == "fsdp2" else "none"
    job["checkpoints_itself"] = True
    return {**job, "arguments": arguments, "sharding": sharding, "ranks": ranks, "examples": job["examples"] * ranks}


def trainer(plan, model):
    plan.one_of("optimizer", *scripts.TRAINER_OPTIMIZERS)
    job = trained(plan, model, "ddp", "fsdp2")
    return Job(scripts.trainer_script(job), with_checkpoint(model, job), job["ranks"])


def sft(plan, model):
    """SFTConfig computes in bf16 by itself; its rows have one length and no mask."""
    plan.one_of("precision", "amp-bf16", "bf16", "bf16+amp")
    plan.one_of("optimizer", "adamw")
    plan.refuse_changed("attention_mask")
    job = trained(plan, model, "ddp")
    if len(set(job["seq"])) > 1:
        raise Refused("--seq: --engine torch gives SFTTrainer one length; use one, or --engine model")
    return Job(scripts.sft_script(job), {**with_checkpoint(model, job), **scripts.tokenizer_files()}, job["ranks"])
