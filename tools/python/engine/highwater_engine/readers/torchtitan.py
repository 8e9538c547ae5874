"""torchtitan 0.3's own program, for a decoder in the shape of Llama."""
import json

from .. import scripts
from ..plan import Job, Refused
from .common import optional, require_one




def torchtitan(plan, model):
    plan.one_of("torchtitan", "0.3")
    plan.one_of("attention", "flex")
    plan.one_of("fsdp_units", "ends")
    plan.one_of("dp_kind", "fsdp2")
    plan.one_of("mode", "train")
    plan.one_of("zero_grad_at", "start")
    plan.one_of("optimizer", "adamw")
    plan.one_of("init", "meta")
    plan.one_of("param_dtype", "bf16")
    plan.one_of("reduce_dtype", "fp32")
    plan.one_of("reshard", "always")
    plan.one_of("tp_kind", "megatron", "dtensor")  # it splits by its own rules
    require_one(plan, "pp", "ep")
    shards, replicas = plan["dp"] // plan["dp_replicate"], plan["dp_replicate"]
    tensor_ranks, context_ranks = plan["tp"], plan["cp"]
    sizes = sizes_of(model)
    job = {"batch": plan["batch"], "seq": tuple(plan["seq"]), "steps": plan["steps"], "sizes": sizes,
           "global_batch": plan["batch"] * plan["grad_accum"] * plan["dp"], "clip": optional(plan["grad_clip"]) or 0,
           "dtype": {"fp32": "float32", "bf16": "bfloat16"}[plan.one_of("precision", "fp32", "bf16")],
           "replicas": replicas, "shards": shards, "tensor_ranks": tensor_ranks, "splits_sequence": plan["sp"] or tensor_ranks == 1,
           "context_ranks": context_ranks, "checkpoint": plan.one_of("checkpoint", *scripts.CHECKPOINTS),
           "compile": plan["compile"], "implementation": plan["optimizer_impl"], "loss": loss_of(plan, sizes["vocabulary"]),
           "converters": ", converters=[Float8LinearConverter.Config(filter_fqns=[\"lm_head\"], "
                         f"model_compile_enabled={plan['compile']})]" if plan["float8"] else "",
           "ranks": plan["dp"] * tensor_ranks * context_ranks}
    if len(set(job["seq"])) > 1:
        raise Refused("--seq: torchtitan packs its text into sequences of one length; use one")
    return Job(scripts.TORCHTITAN, scripts.torchtitan_files(job), job["ranks"], is_launched=True)


def loss_of(plan, vocabulary):
    """@raises Refused"""
    outside = f"CrossEntropyLoss.Config(global_vocab_size={vocabulary})"
    kind, _, chunks = plan["loss"].partition("-")
    if kind not in ("chunked", "flat"):
        raise Refused(f"--loss {plan['loss']}: torchtitan has chunked-N and flat; use one of these, or --engine model")
    return f"ChunkedLossWrapper.Config(loss_fn={outside}, num_chunks={chunks})" if kind == "chunked" else outside


def sizes_of(model):
    """@raises Refused"""
    config = json.loads(model.files.get("config.json", "{}"))
    if config.get("model_type") != "llama":
        raise Refused("--framework torchtitan: --engine torch runs its Llama 3 only; use a Llama, or --engine model")
    from transformers import AutoConfig
    config = AutoConfig.for_model(**config)
    tied, rope = bool(config.tie_word_embeddings), config.rope_parameters
    return {"dim": config.hidden_size, "vocabulary": config.vocab_size, "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads, "kv_heads": config.num_key_value_heads, "hidden": config.intermediate_size,
            "head_dim": config.hidden_size // config.num_attention_heads, "positions": config.max_position_embeddings,
            "theta": rope["rope_theta"], "scaling": "llama" if rope["rope_type"] == "llama3" else "none", "tied": tied,
            "embedding": "_EMBEDDING_SKIP_INIT" if tied else "_EMBEDDING_INIT"}
