"""transformers' Trainer and TRL's SFTTrainer."""
from .. import scripts
from ..plan import Job, Refused
from .common import common, optional, require_one, untrained, with_checkpoint


def evaluation(plan):
    """Keywords of TrainingArguments, sequences of the data, what is gathered; None where nothing is evaluated."""
    batch = plan["eval_batch"]
    every, batches, outputs = min(plan["eval_steps"], plan["steps"]), plan["eval_batches"], plan["eval_outputs"]
    steps, joins = optional(plan["eval_accumulation_steps"]), plan["eval_concat"]
    arguments = ['eval_strategy="steps"', f"eval_steps={every}", f"per_device_eval_batch_size={batch}"]
    arguments += [f"eval_accumulation_steps={steps}"] if steps else []
    arguments += [] if joins else ["eval_do_concat_batches=False"]
    return {"arguments": arguments, "examples": batch * batches, "outputs": outputs} if batch else None


def trained(plan, model, *kinds):
    """What Trainer and SFTTrainer share; the rest they decide themselves."""
    job = common(plan, model)
    require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    plan.refuse_changed("no_sync", "checkpoint_impl", "mode")
    kind, ranks = plan.one_of("dp_kind", *kinds), plan["dp"]
    arguments = [f"max_steps={plan['steps']}"]
    if plan.is_changed("grad_clip"):
        arguments.append(f"max_grad_norm={job['clip'] or 0}")
    if job["weight_decay"]:
        arguments.append(f"weight_decay={job['weight_decay']}")
    if plan.is_changed("label_smoothing"):
        arguments.append(f"label_smoothing_factor={plan['label_smoothing']}")
    sharding = kind if ranks > 1 or kind == "fsdp2" else "none"
    job["checkpoints_itself"] = True
    return {**job, "arguments": arguments, "sharding": sharding, "ranks": ranks, "examples": job["examples"] * ranks}


def trainer(plan, model):
    plan.one_of("optimizer", *scripts.TRAINER_OPTIMIZERS)
    job = trained(plan, model, "ddp", "fsdp2")
    plan.refuse_changed("teacher")
    plan.one_of("loss", "hf", "contrastive")
    job.update(evaluation=evaluation(plan), **untrained(plan))
    if job["evaluation"]:
        job["arguments"] = job["arguments"] + job["evaluation"]["arguments"]
        job["examples"] = max(job["examples"], job["evaluation"]["examples"])
    return Job(scripts.trainer_script(job), with_checkpoint(model, job), job["ranks"])


def of_trl(plan, model):
    """TRL's other trainers, which load the model and the one beside it by a path."""
    loop = plan["framework"].removeprefix("trl-")
    plan.one_of("precision", "amp-bf16", "bf16", "amp-fp16", "fp32")
    plan.one_of("optimizer", *scripts.TRAINER_OPTIMIZERS)
    plan.refuse_changed("attention_mask", "num_labels")
    job = {**trained(plan, model, "ddp"), "loop": loop, "reference": plan["reference_model"]}
    require_loop_of_trl(plan, job)
    return Job(scripts.trl_script(job), {**model.files, **scripts.CHECKPOINT_FILES, **scripts.tokenizer_files()}, job["ranks"])


def require_loop_of_trl(plan, job):
    """@raises Refused"""
    name, loop = plan["framework"], scripts.TRL_LOOPS[job["loop"]]
    if len(set(job["seq"])) > 1:
        raise Refused(f"--seq: --engine torch gives {name} one length; use one")
    if loop.rewards and not job["target"]:
        raise Refused(f"--framework {name}: it writes completions; give --target-seq, their tokens")
    if not loop.rewards and (job["target"] or 1) >= job["seq"][0]:
        raise Refused(f"--target-seq {job['target']}: the answer is a part of the {job['seq'][0]} tokens of --seq; use fewer")
    if loop.rewards and job["batch"] * job["accumulate"] * job["ranks"] < 2:
        raise Refused(f"--batch {job['batch']}: {name} compares completions of one prompt; give 2 or more in a step")


def sft(plan, model):
    """SFTConfig computes in bf16 by itself; its rows have one length, and its collator makes a mask of ones."""
    plan.one_of("precision", "amp-bf16", "bf16", "bf16+amp")
    plan.one_of("optimizer", "adamw")
    plan.refuse_changed("attention_mask")
    job = trained(plan, model, "ddp")
    if len(set(job["seq"])) > 1:
        raise Refused("--seq: --engine torch gives SFTTrainer one length; use one, or --engine model")
    return Job(scripts.sft_script(job), {**with_checkpoint(model, job), **scripts.tokenizer_files()}, job["ranks"])
