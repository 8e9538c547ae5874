"""Names of models: family and config keywords. Reading them does not need torch.

The family "plain" is the decoder of plain_decoder.py, the others are classes of transformers.
"""

PRESETS = {
    # family gpt2
    "gpt2": ("gpt2", {}),
    "gpt2-medium": ("gpt2", dict(n_embd=1024, n_layer=24, n_head=16)),
    "gpt2-large": ("gpt2", dict(n_embd=1280, n_layer=36, n_head=20)),
    "gpt2-xl": ("gpt2", dict(n_embd=1600, n_layer=48, n_head=25)),
    # family opt
    "opt-125m": ("opt", {}),
    "opt-350m": ("opt", dict(hidden_size=1024, num_hidden_layers=24, ffn_dim=4096, num_attention_heads=16,
                             word_embed_proj_dim=512, do_layer_norm_before=False)),
    "opt-1.3b": ("opt", dict(hidden_size=2048, num_hidden_layers=24, ffn_dim=8192, num_attention_heads=32)),
    # family bloom
    "bloom-560m": ("bloom", dict(hidden_size=1024, n_layer=24, n_head=16)),
    # family gpt-neo
    "gpt-neo-125m": ("gpt_neo", dict(hidden_size=768, num_layers=12, num_heads=12,
                                     attention_types=[[["global", "local"], 6]])),
    # family codegen, gptj
    "codegen-350m": ("codegen", dict(vocab_size=51200, n_embd=1024, n_layer=20, n_head=16, rotary_dim=32)),
    "gptj-tiny": ("gptj", dict(n_embd=1024, n_layer=4, n_head=8, rotary_dim=64)),
    # family llama
    "llama-160m": ("llama", dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12,
                                 num_attention_heads=12)),
    "llama-1b": ("llama", dict(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                               num_attention_heads=32, num_key_value_heads=8, head_dim=64,
                               tie_word_embeddings=True, max_position_embeddings=131072)),
    "llama-3b": ("llama", dict(vocab_size=128256, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28,
                               num_attention_heads=24, num_key_value_heads=8, head_dim=128,
                               tie_word_embeddings=True, max_position_embeddings=131072)),
    "llama-2-7b": ("llama", dict(max_position_embeddings=4096)),
    "llama-8b": ("llama", dict(vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                               num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=8192)),
    "tinyllama-1.1b": ("llama", dict(hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                                     num_attention_heads=32, num_key_value_heads=4)),
    # families mistral, qwen2, gemma, mixtral
    "mistral-7b": ("mistral", {}),
    "qwen2-0.5b": ("qwen2", dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                                 num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True)),
    "qwen2-1.5b": ("qwen2", dict(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28,
                                 num_attention_heads=12, num_key_value_heads=2, tie_word_embeddings=True)),
    "gemma-2b": ("gemma", dict(hidden_size=2048, intermediate_size=16384, num_hidden_layers=18,
                               num_attention_heads=8, num_key_value_heads=1)),
    "mixtral-small": ("mixtral", dict(hidden_size=1024, intermediate_size=3584, num_hidden_layers=8,
                                      num_attention_heads=16, num_key_value_heads=8)),
    # families t5, deepseek_v3, with few layers
    "t5-small": ("t5", dict(decoder_start_token_id=0)),
    "deepseek-tiny": ("deepseek_v3", dict(
        vocab_size=32000, hidden_size=512, intermediate_size=1024, moe_intermediate_size=256, num_hidden_layers=3,
        num_attention_heads=8, num_key_value_heads=8, n_routed_experts=16, n_group=4, topk_group=2,
        num_experts_per_tok=4, q_lora_rank=256, kv_lora_rank=128, qk_nope_head_dim=64, qk_rope_head_dim=32,
        v_head_dim=64, first_k_dense_replace=1, pad_token_id=None)),
    # plain decoder, LLaMA shapes
    "plain-160m": ("plain", dict(vocab=32000, dim=768, ffn=3072, layers=12, heads=12, kv_heads=12)),
    "plain-1b": ("plain", dict(vocab=128256, dim=2048, ffn=8192, layers=16, heads=32, kv_heads=8)),
    "plain-8b": ("plain", dict(vocab=128256, dim=4096, ffn=14336, layers=32, heads=32, kv_heads=8)),
}

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
