"""The model of a case: built from a config with random weights, its blocks, checkpointing of them."""

import torch
import torch.nn.functional as F
from torch import nn

from .plain_decoder import PlainDecoder
from .presets import HF_CLASSES, family_of, settings_of

_DROPOUT_FIELDS = ("resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout", "attention_dropout", "hidden_dropout",
                   "resid_dropout", "embed_dropout")


def classes_of(family):
    """Configuration and model: those of HF_CLASSES, else what transformers has for causal language models."""
    import transformers

    if family in HF_CLASSES:
        return [getattr(transformers, name) for name in HF_CLASSES[family]]
    config = transformers.CONFIG_MAPPING[family]
    return config, transformers.MODEL_FOR_CAUSAL_LM_MAPPING[config]


def _hf_config(case, tiny):
    settings = settings_of(case, tiny)
    config_class, model_class = classes_of(family_of(case))
    config = config_class(**settings)
    if case.get("dropout") is not None:
        for field in _DROPOUT_FIELDS:
            if hasattr(config, field):
                setattr(config, field, case["dropout"])
    config.use_cache = bool(case.get("use_cache", False))
    for token in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if (getattr(config, token, None) or 0) >= config.vocab_size:
            setattr(config, token, None)
    return config, model_class


def evenly_routed(experts, hidden, chosen, weights):
    """A mixture's forward with every expert given the same number of tokens, regardless of the router."""
    total = torch.zeros_like(hidden)
    tokens, top_k = chosen.shape
    share = tokens * top_k // experts.num_experts
    for number in range(experts.num_experts):
        token = torch.arange(number * share, (number + 1) * share, device=hidden.device) % tokens
        gate, up = F.linear(hidden[token], experts.gate_up_proj[number]).chunk(2, dim=-1)
        out = F.linear(experts.act_fn(gate) * up, experts.down_proj[number])
        out = out * weights[token, number % top_k, None]
        total.index_add_(0, token, out.to(total.dtype))
    return total


def build(case, device, dtype, tiny=False):
    """Builds the case's model on `device` (or on meta) in `dtype`; returns (model, description)."""
    family = family_of(case)
    attention = case["attention"]
    if family == "plain":
        settings = settings_of(case, tiny)
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            with torch.device(device):
                model = PlainDecoder(attention=attention, **settings)
        finally:
            torch.set_default_dtype(before)
        return model, {"family": family, "source": "plain", "config": settings}
    config, cls = _hf_config(case, tiny)
    if family == "mixtral" and case.get("experts") == "even":
        from transformers.models.mixtral import modeling_mixtral
        modeling_mixtral.MixtralExperts.forward = evenly_routed
    elif case.get("experts"):
        config._experts_implementation = case["experts"]
    with torch.device(device):
        model = cls._from_config(config, attn_implementation=attention, dtype=dtype)
    return model, {"family": family, "source": "transformers", "config": config.to_dict()}


def blocks_of(model):
    """The repeated transformer blocks, in order."""
    best = None
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and (best is None or len(module) > len(best)):
            best = module
    return list(best)


def freeze(model, names):
    """Keeps modules from being trained, by the last parts of their names; None: none of them."""
    endings = tuple(f".{name}" for name in (names or "").split(",") if name)
    for name, module in model.named_modules():
        if endings and f".{name}".endswith(endings):
            module.requires_grad_(False)


def set_recompute(model, mode):
    """mode: none, reentrant, nonreentrant, or every2-<either> (odd-numbered blocks only)."""
    if mode == "none":
        return
    every2 = mode.startswith("every2-")
    kind = mode.removeprefix("every2-")
    blocks = blocks_of(model)
    if isinstance(model, PlainDecoder):
        for i, block in enumerate(blocks):
            block.recompute = kind if not every2 or i % 2 else None
        return
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": kind == "reentrant"})
    if every2:
        for i, block in enumerate(blocks):
            block.gradient_checkpointing = bool(i % 2)
