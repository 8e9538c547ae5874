"""Models by name, made from their configurations; no weights are loaded."""
import torch
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

MODELS = {
    "gpt2": lambda: GPT2Config(),
    "llama-3.2-1b": lambda: LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, head_dim=64, max_position_embeddings=131072, rms_norm_eps=1e-5,
        tie_word_embeddings=True, bos_token_id=0, eos_token_id=1, pad_token_id=2),
}


def make(name, dtype="float32"):
    return AutoModelForCausalLM.from_config(MODELS[name](), dtype=getattr(torch, dtype))
