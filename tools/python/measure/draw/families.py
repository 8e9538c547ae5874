"""The families that are drawn: a small config.json of random sizes for each, and what scripts import from transformers."""

import dataclasses
from collections.abc import Callable

VOCABULARIES = (8192, 32000, 32064, 49152, 50257, 65024, 128256)
GROUPED_VOCABULARY = 151936  # of Qwen's tokenizers
LINEAR_TARGETS = ("llama", "qwen2", "qwen3", "mistral", "gemma", "gpt2", "mixtral", "opt", "bloom")  # PEFT knows theirs


@dataclasses.dataclass(frozen=True)
class Family:
    """A row of FAMILIES."""
    weight: int                 # how often it is drawn
    block: str                  # the module that FSDP wraps
    config: Callable            # (random.Random) -> the fields of config.json without model_type
    is_decoder: bool = True     # T5 is an encoder with a decoder
    is_mixture: bool = False

    @property
    def auto_class(self):
        return "AutoModelForCausalLM" if self.is_decoder else "AutoModelForSeq2SeqLM"


def drawn_heads(rng):
    """Heads and their width, such that all together are 256 to 1024 wide."""
    width = rng.choice((32, 64, 64, 64, 80, 96, 128))
    return rng.choice([heads for heads in (4, 6, 8, 10, 12, 16) if 256 <= heads * width <= 1024]), width


def drawn_layers(rng):
    return rng.randint(2, 6)


def gpt2(rng):
    heads, width = drawn_heads(rng)
    return {"n_embd": heads * width, "n_head": heads, "n_layer": drawn_layers(rng), "n_positions": 2048,
            "vocab_size": rng.choice(VOCABULARIES)}


def llama_like(rng, **more):
    heads, width = drawn_heads(rng)
    groups = rng.choice([groups for groups in (1, 2, 4, heads) if heads % groups == 0])
    hidden = heads * width
    return {"hidden_size": hidden, "intermediate_size": 32 * round(hidden * rng.uniform(2, 4) / 32),
            "num_hidden_layers": drawn_layers(rng), "num_attention_heads": heads, "num_key_value_heads": groups,
            "vocab_size": rng.choice(VOCABULARIES), "max_position_embeddings": 4096,
            "tie_word_embeddings": rng.random() < 0.3, **more}


def qwen2(rng):
    return llama_like(rng, vocab_size=GROUPED_VOCABULARY, tie_word_embeddings=rng.random() < 0.5)


def qwen3(rng):
    config = llama_like(rng, vocab_size=GROUPED_VOCABULARY, tie_word_embeddings=rng.random() < 0.5)
    return {**config, "head_dim": rng.choice((64, 128))}


def gemma(rng):
    config = llama_like(rng, tie_word_embeddings=True)
    return {**config, "head_dim": rng.choice((128, 256))}


def mixtral(rng):
    config = llama_like(rng, tie_word_embeddings=False)
    return {**config, "intermediate_size": config["intermediate_size"] // 2 // 32 * 32,
            "num_local_experts": rng.choice((4, 8)), "num_experts_per_tok": 2}


def deepseek_v3(rng):
    heads = rng.choice((4, 8))
    return {"hidden_size": 128 * rng.randint(2, 6), "intermediate_size": 1024, "moe_intermediate_size": 256,
            "num_hidden_layers": drawn_layers(rng), "num_attention_heads": heads, "num_key_value_heads": heads,
            "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
            "first_k_dense_replace": 1, "q_lora_rank": 128, "kv_lora_rank": 64, "qk_nope_head_dim": 64,
            "qk_rope_head_dim": 32, "v_head_dim": 64, "vocab_size": rng.choice(VOCABULARIES)}


def opt(rng):
    heads, width = drawn_heads(rng)
    hidden = heads * width
    return {"hidden_size": hidden, "word_embed_proj_dim": hidden, "ffn_dim": 4 * hidden, "num_attention_heads": heads,
            "num_hidden_layers": drawn_layers(rng), "max_position_embeddings": 2048,
            "vocab_size": rng.choice(VOCABULARIES)}


def bloom(rng):
    heads, width = drawn_heads(rng)
    return {"hidden_size": heads * width, "n_head": heads, "n_layer": drawn_layers(rng),
            "vocab_size": rng.choice(VOCABULARIES)}


def gpt_neo(rng):
    heads, width = drawn_heads(rng)
    pairs = rng.randint(1, 3)
    return {"hidden_size": heads * width, "num_heads": heads, "num_layers": 2 * pairs,
            "attention_types": [[["global", "local"], pairs]], "vocab_size": rng.choice(VOCABULARIES)}


def gptj(rng):
    return {**gpt2(rng), "rotary_dim": 32}


def codegen(rng):
    """Heads are laid out in four groups."""
    heads = rng.choice((4, 8, 16))
    return {**gptj(rng), "n_head": heads, "n_embd": 64 * heads}


def t5(rng):
    heads, width = drawn_heads(rng)
    return {"d_model": heads * width, "d_kv": width, "d_ff": 4 * heads * width, "num_heads": heads,
            "num_layers": drawn_layers(rng), "vocab_size": 32128, "decoder_start_token_id": 0, "pad_token_id": 0}


FAMILIES = {
    "llama": Family(6, "LlamaDecoderLayer", llama_like),
    "qwen2": Family(4, "Qwen2DecoderLayer", qwen2),
    "qwen3": Family(4, "Qwen3DecoderLayer", qwen3),
    "mistral": Family(3, "MistralDecoderLayer", llama_like),
    "gemma": Family(3, "GemmaDecoderLayer", gemma),
    "gpt2": Family(4, "GPT2Block", gpt2),
    "mixtral": Family(2, "MixtralDecoderLayer", mixtral, is_mixture=True),
    "deepseek_v3": Family(2, "DeepseekV3DecoderLayer", deepseek_v3, is_mixture=True),
    "opt": Family(2, "OPTDecoderLayer", opt),
    "bloom": Family(2, "BloomBlock", bloom),
    "gpt_neo": Family(1, "GPTNeoBlock", gpt_neo),
    "gptj": Family(1, "GPTJBlock", gptj),
    "codegen": Family(1, "CodeGenBlock", codegen),
    "gpt_bigcode": Family(1, "GPTBigCodeBlock", gpt2),
    "t5": Family(2, "T5Block", t5, is_decoder=False),
}
