"""Models that the program lists (workloads/facts/models.json): family and config keywords. Needs no torch.

The family "plain" is the decoder of plain_decoder.py, the others are classes of transformers.
"""

import json
from pathlib import Path

MODELS = Path(__file__).resolve().parents[3] / "workloads" / "facts" / "models.json"

# What the recordings have otherwise than the listed models; None leaves the field to transformers' class.
_AS_RECORDED: dict = {
    "gpt-neo-125m": dict(attention_types=[[["global", "local"], 6]]),
    "llama-160m": dict(num_key_value_heads=None),
    "llama-2-7b": dict(num_key_value_heads=None),
    "llama-3-8b": dict(rope_parameters=None),
    "llama-3.2-1b": dict(rope_parameters=None),
    "llama-3.2-3b": dict(rope_parameters=None),
    "mistral-7b": dict(max_position_embeddings=None),
    "qwen2-0.5b": dict(max_position_embeddings=None, rope_parameters=None),
    "qwen2-1.5b": dict(max_position_embeddings=None, rope_parameters=None),
    "t5-small": dict(decoder_start_token_id=0),
    "plain-160m": dict(kv_heads=12),
}

# A size of recordings that has no name in the program.
_DEEPSEEK_TINY = dict(
    vocab_size=32000, hidden_size=512, intermediate_size=1024, moe_intermediate_size=256, num_hidden_layers=3,
    num_attention_heads=8, num_key_value_heads=8, n_routed_experts=16, n_group=4, topk_group=2,
    num_experts_per_tok=4, q_lora_rank=256, kv_lora_rank=128, qk_nope_head_dim=64, qk_rope_head_dim=32,
    v_head_dim=64, first_k_dense_replace=1, pad_token_id=None)


def _listed_model(row):
    """(family, config keywords)"""
    settings = dict(row.get("config") or row.get("sizes") or {})
    family = settings.pop("model_type", None) or row["family"]
    changes = _AS_RECORDED.get(row["name"].lower(), {})
    settings.update(changes)
    return family, {key: value for key, value in settings.items() if value is not None or key not in changes}


def _listed_models():
    """By name and alias, in lower case."""
    models = {"deepseek-tiny": ("deepseek_v3", _DEEPSEEK_TINY)}
    for row in json.loads(MODELS.read_text(encoding="utf-8"))["models"]:
        for name in (row["name"], *row.get("aliases", ())):
            models[name.lower()] = _listed_model(row)
    return models


PRESETS = _listed_models()

# Config keywords that shrink a family to something a CPU trains in a second.
TINY: dict = {
    "gpt2": dict(vocab_size=128, n_embd=32, n_layer=2, n_head=2, n_positions=64),
    "opt": dict(vocab_size=128, hidden_size=32, num_hidden_layers=2, ffn_dim=64, num_attention_heads=2,
                max_position_embeddings=64, word_embed_proj_dim=None),
    "bloom": dict(vocab_size=128, hidden_size=32, n_layer=2, n_head=2),
    "gpt_neo": dict(vocab_size=128, hidden_size=32, num_layers=2, num_heads=2, max_position_embeddings=64,
                    attention_types=[[["global", "local"], 1]]),
    "t5": dict(vocab_size=128, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "deepseek_v3": dict(vocab_size=128, hidden_size=64, intermediate_size=96, moe_intermediate_size=32),
    "codegen": dict(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=64, rotary_dim=8),
    "gptj": dict(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=64, rotary_dim=8),
    "plain": dict(vocab=128, dim=64, ffn=96, layers=2, heads=8, kv_heads=8),
}
for _family in ("llama", "mistral", "qwen2", "gemma", "mixtral"):
    TINY[_family] = dict(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=8, num_key_value_heads=4, head_dim=8, max_position_embeddings=64)
TINY["qwen2"].pop("head_dim")


# Of transformers: the config and the model of a family.
HF_CLASSES = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel"),
    "opt": ("OPTConfig", "OPTForCausalLM"),
    "bloom": ("BloomConfig", "BloomForCausalLM"),
    "gpt_neo": ("GPTNeoConfig", "GPTNeoForCausalLM"),
    "codegen": ("CodeGenConfig", "CodeGenForCausalLM"),
    "gptj": ("GPTJConfig", "GPTJForCausalLM"),
    "llama": ("LlamaConfig", "LlamaForCausalLM"),
    "mistral": ("MistralConfig", "MistralForCausalLM"),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM"),
    "gemma": ("GemmaConfig", "GemmaForCausalLM"),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM"),
    "t5": ("T5Config", "T5ForConditionalGeneration"),
    "deepseek_v3": ("DeepseekV3Config", "DeepseekV3ForCausalLM"),
}


def preset_of(case):
    """(family, config keywords): a name of PRESETS, or the model_type of any text decoder of transformers."""
    return PRESETS.get(case["model"], (case["model"], {}))


def family_of(case):
    return preset_of(case)[0]


def settings_of(case, tiny=False):
    """Config keywords of a case: the preset, the case's overrides, then the tiny sizes if asked for."""
    family, settings = preset_of(case)
    settings = {**settings, **case.get("overrides", {})}
    if tiny:
        settings = {**settings, **TINY[family]}
    return settings
