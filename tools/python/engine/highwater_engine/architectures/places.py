"""How many tokens of a sequence stand for an image or a sound: as many as the model's own encoder makes features of it.

Asked of the model itself, on meta, where nothing is computed.
"""
import functools
import json

from ..asking import UnknownModel, asked
from .sizes import Unknown, first

# What a model is asked, and the tokens that stand for its answer.
ENCODERS = (("image", "get_image_features", ("image_token_id", "image_token_index")),
            ("audio", "get_audio_features", ("audio_token_id", "audio_token_index")))


def find(auto_class, inputs, fields):
    """(token, how many) for the first encoder that has inputs; None where none has.

    fields: expressions of an example by parameter. @raises Unknown
    """
    import inspect
    config = inputs.sizes.config
    for modality, name, tokens in ENCODERS:
        token = first(config, (), *tokens)
        encode = getattr(inputs.cls, name, None)
        if encode is None or token is None:
            continue
        given = {key: fields[key] for key in inspect.signature(encode).parameters if key in fields}
        if not given:
            continue
        if modality == "image" and inputs.has_grid:  # whose values it reads
            rows, columns, merged = inputs.sizes.patches()
            return token, rows * columns // merged
        try:
            return token, _features(auto_class, config.to_json_string(), name, tuple(given.items()))
        except UnknownModel as error:  # its code reads values, or the configuration contradicts itself
            raise Unknown(f"tokens that stand for each {modality}, and does not tell how many ({error})") from None
    return None


@functools.lru_cache
def _features(auto_class, text, name, given):
    return asked(lambda: _asked(auto_class, text, name, given))


def _asked(auto_class, text, name, given):
    import torch
    from transformers import AutoConfig
    settings = json.loads(text)
    model = auto_class.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings))
    with torch.no_grad():
        return _count(getattr(model, name)(**{key: _example(expression) for key, expression in given}))


def _example(expression):
    """A batch of one: numbers on meta, sizes on the host, where their values are read."""
    import torch
    with torch.device("cpu"):
        value = eval(expression.format(seq=1, floats="", batch=1), {"torch": torch, "index": 0})
    if value.is_floating_point():
        return value.to("meta") if value.dim() == 2 else value.unsqueeze(0).to("meta")
    return value.unsqueeze(0)


def _count(features):
    from torch.utils._pytree import tree_leaves
    found = getattr(features, "pooler_output", None)
    found = found if found is not None else features
    return sum(leaf.numel() // leaf.shape[-1] for leaf in tree_leaves(found) if hasattr(leaf, "shape"))
