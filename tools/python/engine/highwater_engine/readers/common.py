"""What the loops of all frameworks read of a plan."""
import dataclasses
import json

from .. import scripts
from ..lengths import fitting
from ..plan import Refused


ANSWERED = ("trl-dpo", "trl-kto", "trl-orpo", "trl-grpo", "trl-rloo")  # loops over prompts and answers of this length


def optional(value):
    return None if value in (None, "none", "default") else value


def precision(plan):
    """(dtype of the weights, of autocast)"""
    precision = plan["precision"]
    if precision == "bf16+amp":
        return "bf16", "bf16"
    return ("fp32", precision.removeprefix("amp-")) if precision.startswith("amp-") else (precision, None)


def common(plan, model):
    """What the loops share."""
    weights, autocast = precision(plan)
    batch, accumulate = plan["batch"], plan["grad_accum"]
    lengths = fitting(plan, model)
    checkpoint = plan.one_of("checkpoint", "none", "full")
    require_own(plan, model)
    attention = plan.one_of("attention", "sdpa", "eager")
    optimizer = plan.one_of("optimizer", *scripts.OPTIMIZERS, "none")
    require_one_optimizer(plan, optimizer)
    job = {**scripts.DEFAULTS, "model": model, "batch": batch, "seq": tuple(lengths),
           "examples": batch * accumulate * plan["steps"], "weights": weights, "autocast": autocast,
           "attention": attention if attention != "sdpa" else None,
           "experts": experts(plan),
           "checkpoint": checkpoint == "full", "reentrant": plan["checkpoint_impl"] == "reentrant",
           "lora": plan["lora"], "lora_targets": targets(plan), "lora_dropout": plan["lora_dropout"], "dora": plan["dora"],
           "peft": adapter(plan, model),
           **quantization(plan, weights, autocast),
           "accumulate": accumulate, "no_sync": plan["no_sync"], "optimizer": optimizer, "optimizer_rank": plan["optimizer_rank"],
           "weight_decay": plan.get("weight_decay") or 0,
           "clip": optional(plan["grad_clip"]), "compile": plan["compile"], "mask": mask(plan, model),
           "target": target(plan, model), "varies": bool(plan.get("varied_inputs")), "training": plan["mode"] == "train"}
    if plan["dropout"] is not None:
        raise Refused("--dropout: --engine torch takes the model's own probabilities; set them in its config.json")
    return job


def quantization(plan, weights, autocast):
    """Frozen weights in 4 or 8 bits."""
    form = optional(plan["quantize"])
    chosen = {"quantize": form, "double_quant": plan["double_quant"], "quant_storage": plan["quant_storage"],
              "quant_compute_dtype": optional(plan["quant_compute_dtype"]) or autocast or weights,
              "prepares_kbit": bool(form) and plan["prepare_kbit"]}
    if form:
        require_one(plan, "dp", "tp", "pp", "cp", "ep", "dp_replicate")
    return chosen


def with_checkpoint(model, job):
    """The files beside the script: quantised weights are read from a checkpoint."""
    return {**model.files, **(scripts.CHECKPOINT_FILES if job["quantize"] else {})}


def require_own(plan, model):
    """Options that are methods or arguments of transformers' models. @raises Refused"""
    if plan["checkpoint"] == "full" and not model.checkpointing:
        raise Refused(f"--checkpoint full: {model.name} has no checkpointing of its own; omit it")
    if not model.is_transformers:
        plan.refuse_changed("attention", "experts", "quantize")
        require_targets(plan, model)
    if plan["dp_kind"] in ("fsdp1", "fsdp2") and not model.block:
        raise Refused(f"--dp-kind {plan['dp_kind']}: {model.name} names no block to shard and repeats none; use ddp")


def require_targets(plan, model):
    """PEFT knows by itself which layers of transformers' models it adapts, and of no others. @raises Refused"""
    named = plan.get("lora_targets") or json.loads(plan.get("peft") or "{}").get("target_modules")
    if (plan["lora"] or plan.get("peft")) and not named:
        raise Refused(f"--lora: PEFT does not know which layers of {model.name} to adapt; name them with "
                      "--lora-targets")


def evaluation(plan, model):
    """Between steps of a loop that a script writes itself: sequences of a batch, batches, steps before each; None: there is
    none. @raises Refused"""
    batch, every, batches = plan["eval_batch"], plan["eval_steps"], plan["eval_batches"]
    if batch and "batch" in model.fixes:
        raise Refused(f"--eval-batch {batch}: {model.name} makes its own batch; give the function a parameter 'batch', or omit it")
    return {"batch": batch, "batches": batches, "every": min(every, plan["steps"])} if batch else None


def averaged(plan):
    """Whether a copy of the model is averaged after each step."""
    if plan["ema"]:
        require_one(plan, "dp", "tp", "pp", "cp", "ep")
    return plan["ema"]


def untrained(plan):
    """What is not trained: modules of the model, and a model beside it."""
    names = plan.get("freeze") or ""
    others = names.startswith("all-but:")
    if plan.get("teacher"):
        require_one(plan, "dp", "tp", "pp", "cp", "ep")
    return {"teacher": plan.teacher, "frozen": tuple(filter(None, names.removeprefix("all-but:").split(","))), "freezes_others": others}


def experts(plan):
    """How a mixture computes its experts; None: transformers' own choice."""
    return plan.one_of("experts", "eager", "batched_mm", "grouped_mm") if plan.is_changed("experts") else None


def targets(plan):
    named = plan.get("lora_targets")
    return tuple(named.split(",")) if named else ()


def adapter(plan, model):
    """PEFT's configuration of an adapter that is no plain LoRA; None: there is none. A saved one is for inference."""
    text = plan.get("peft")
    if not text:
        return None
    own = {key: value for key, value in json.loads(text).items() if value is not None}
    return {**own, **with_task(own.get("task_type"), model), "inference_mode": False}


def with_task(task, model):
    """What is added to models of other libraries is no task's adapter, but a plain one around the model."""
    return {"task_type": task or model.task} if model.is_transformers else {"task_type": None}


_MASKS = {False: "", None: "", "none": "", True: "full"}  # as JSON says them; others are words


def mask(plan, model):
    """"full", "padded", or empty. @raises Refused"""
    word = _MASKS.get(plan["attention_mask"], plan["attention_mask"])
    has_it = '"attention_mask"' in model.fields
    if word and not (model.mask or (has_it and word == "full")) and (model.data or model.batches):
        raise Refused(f"--attention-mask {word}: {model.name} "
                      + ("is given one that hides nothing; use full" if has_it else "is given no mask of tokens; omit it"))
    return word


def target(plan, model):
    """Tokens of the labels; None: as many as in the inputs. @raises Refused"""
    length = plan.get("target_seq")
    if length is not None and not model.targets and plan["framework"] not in ANSWERED:
        raise Refused(f"--target-seq {length}: {model.name or 'the model'} has no decoder of its own whose sequences could have "
                      "another length; omit it")
    if length is not None and model.longest is not None and length > model.longest:
        raise Refused(f"--target-seq {length}: {model.name} has positions for {model.longest} tokens; use at most {model.longest}")
    return length


def require_one_optimizer(plan, optimizer):
    """@raises Refused"""
    is_plain = plan["framework"] in ("hf", "torch") and plan["pp"] == 1 and not plan["dp_kind"].startswith("zero")
    if optimizer == "lbfgs" and (not is_plain or plan["dp"] * plan["tp"] * plan["cp"] > 1):
        raise Refused("--optimizer lbfgs: it calls the model again, and --engine torch writes that in a plain loop on one GPU only; "
                      "use --framework hf without --dp")
    if optimizer == "muon" and not is_plain:
        raise Refused("--optimizer muon: AdamW steps beside it, and --engine torch makes two optimizers in a plain loop "
                      "only; use --framework hf without pipelines and DeepSpeed")


def require_one(plan, *axes):
    for axis in axes:
        if plan[axis] != 1:
            raise Refused(f"--{axis.replace('_', '-')} {plan[axis]}: --engine torch does not combine this with the rest "
                          "of the plan; omit it, or use --engine model")


def require_tokens(plan, model):
    """@raises Refused"""
    if model.data or model.batches:
        raise Refused(f"--cp {plan['cp']}: {model.name} is fed more than tokens, and --engine torch cuts these only; omit it")


def with_cache(plan, model):
    """The model, told to return no keys and values where the plan says so."""
    if plan["use_cache"] or not model.has_config:
        return model
    return dataclasses.replace(model, prepare=scripts.text(model.prepare, "config.use_cache = False"))


def require_block(model, who):
    """@raises Refused"""
    if not model.block:
        raise Refused(f"--model: {who} has to be told which class is a block, and transformers names none for this "
                      "model (_no_split_modules); use --dp-kind ddp")
