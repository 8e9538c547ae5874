"""A plain loop around PyTorch's own pipelines."""
import json

from .. import scripts
from ..plan import Job, Refused
from .common import common, optional, require_block, require_one, with_cache
from .sharding import ddp_keywords, full_sharding

INPUT = "HIGHWATER_RECORD_STAGE_INPUT"  # for the recorder: what the stage before sends
TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def pipeline(plan, model):
    job = common(plan, model)
    if not model.has_labels:
        raise Refused("--pp: the last stage's loss is one of labels, which this batch has none of; omit it")
    require_one(plan, "tp", "cp", "ep", "dp_replicate")
    plan.one_of("precision", "fp32", "bf16", "fp16")
    plan.one_of("loss", "hf")
    plan.one_of("mode", "train")
    plan.one_of("offload", "none")
    plan.one_of("use_cache", False)
    plan.refuse_changed("no_sync", "keep_logits", "attention_mask", "lora", "peft", "compile", "float8")
    schedule = plan.one_of("pp_schedule", *scripts.SCHEDULES)
    if len(set(job["seq"])) > 1:
        raise Refused("--seq: a stage's receive buffers are made for one length; use one")
    config = text_config(model)
    sent = f"{job['batch']}x{job['seq'][0]}x{config.hidden_size}"
    job.update(stages=plan["pp"], schedule=schedule, chunks=plan["pp_chunks"] if schedule == "interleaved" else 1,
               layers=config.num_hidden_layers, stage_class=stage_class(config), ranks=plan["pp"] * plan["dp"],
               init=plan.one_of("init", "cpu", "meta"), batch=job["batch"] * job["accumulate"],
               implementation=optional(plan["optimizer_impl"]), param_groups=plan["param_groups"],
               zeroes_at=plan.one_of("zero_grad_at", "end", "start"), set_to_none=plan["set_to_none"],
               empties_cache=plan["empty_cache_every_step"], model=with_cache(plan, model))
    if job["layers"] < job["stages"] * job["chunks"]:
        raise Refused(f"--pp {job['stages']}: the model has {job['layers']} blocks, fewer than {job['stages'] * job['chunks']} "
                      "stages; use fewer")
    job.update(spreading(plan, model))
    return Job(scripts.pipeline_script(job), job["model"].files, job["ranks"],
               {INPUT: f"{sent}:{TYPES[job['param_dtype'] if job['sharding'] == 'fsdp2' and job['param_dtype'] else job['weights']]}"})


def spreading(plan, model):
    """How each stage is spread over the ranks that have it."""
    if plan["dp"] == 1:
        return {"sharding": "none"}
    if plan.one_of("dp_kind", "ddp", "fsdp2") == "ddp":
        return {"sharding": "ddp", "ddp": ddp_keywords(plan) + ', process_group=mesh["dp"].get_group()'}
    require_block(model, "fully_shard")
    return {"sharding": "fsdp2", **full_sharding(plan)}


def text_config(model):
    """@raises Refused"""
    if "config.json" not in model.files:
        raise Refused(f"--pp: {model.name} has no configuration of transformers that says where it can be cut; use another "
                      "model, or omit it")
    from transformers import AutoConfig
    return AutoConfig.for_model(**json.loads(model.files["config.json"]))


def stage_class(config):
    """Of stages.py. @raises Refused for a model that transformers does not say how to cut, but for GPT-2"""
    if config.model_type == "gpt2":
        return "Gpt2Stage"
    if set(getattr(config, "base_model_pp_plan", None) or ()) != {"embed_tokens", "layers", "norm"}:
        raise Refused("--pp: transformers has no plan for cutting this model into embed_tokens, layers and norm "
                      "(base_model_pp_plan); use another model, or omit it")
    return "Stage"
