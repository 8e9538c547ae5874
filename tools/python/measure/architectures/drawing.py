"""Draws architectures of transformers: drawing.py SEED COUNT OUTPUT [decoders], under a Python with torch and transformers.

Drawn are whole architectures, each by its default configuration. Left out are names without a model class; parts of
another architecture's configuration (sub_configs) that no auto class of a task knows; and those whose default
configuration makes no model, or none within PATIENCE seconds. Giants are reduced: while a model has more than a billion
parameters, its numbers of layers are halved, to four at least (kinds of layers take turns), then its numbers of experts,
to 32, then the widths of its feed-forward blocks, to 1024; what transformers refuses on the way is passed over.

With `decoders`, only text decoders are drawn: architectures with a class for causal language models and none for
another generative or masked task (OTHER_TASKS).
"""
import contextlib
import json
import random
import signal
import sys

PATIENCE = 120
GIANT = 10**9  # parameters
LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "num_decoder_layers",
          "num_encoder_layers", "depth", "num_blocks")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
WIDTHS = ("intermediate_size", "moe_intermediate_size", "dense_intermediate_size", "ffn_dim", "d_ff", "ffn_hidden_size")
OTHER_TASKS = ("MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "MULTIMODAL_LM", "SPEECH_SEQ_2_SEQ",
               "VISION_2_SEQ", "TEXT_TO_WAVEFORM", "TEXT_TO_SPECTROGRAM")
STEPS = ((LAYERS, 4), (EXPERTS, 32), (WIDTHS, 1024))


def mappings():
    """{name of a mapping: {model_type: class or classes}}, of all auto classes."""
    from transformers.models.auto import modeling_auto
    return {name: mapping for name, mapping in vars(modeling_auto).items()
            if name.startswith("MODEL") and name.endswith("_NAMES")}


def has_class(kind):
    return any(kind in mapping for mapping in mappings().values())


def has_task(kind):
    bare = ("MODEL_MAPPING_NAMES", "MODEL_FOR_IMAGE_MAPPING_NAMES", "MODEL_FOR_BACKBONE_MAPPING_NAMES",
            "MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES")
    return any(kind in mapping for name, mapping in mappings().items() if name not in bare)


def is_text_decoder(kind):
    of_task = mappings()
    others = (of_task.get(f"MODEL_FOR_{task}_MAPPING_NAMES", {}) for task in OTHER_TASKS)
    return kind in of_task["MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"] and not any(kind in other for other in others)


def parts_of_others():
    """Types of configurations that another configuration has inside."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    found = set()
    for kind in CONFIG_MAPPING.keys():
        for part in (getattr(CONFIG_MAPPING[kind], "sub_configs", None) or {}).values():
            inner = getattr(part, "model_type", "")
            if inner and inner != kind:
                found.add(inner)
    return found


def parameters_of(kind, changes):
    """Of the model on meta, of the first of its classes that can be made. Raises what transformers does."""
    from highwater_engine.architectures import tasks
    from transformers import AutoConfig
    config = AutoConfig.for_model(kind, **changes)
    problem = None
    for task, name in tasks.of(config):
        config.architectures = [name]
        try:
            return _made_on_meta(task, config)
        except TimeoutError:
            raise
        except Exception as error:
            problem = problem or error
    raise problem or LookupError("no class that is trained")


def _made_on_meta(task, config):
    import torch
    import transformers
    with torch.device("meta"):
        model = getattr(transformers, task.auto_class).from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())


def halved(kind, changes, names, least):
    """The changes of a configuration whose numbers of this name are half of what they are; None: they are small."""
    from transformers import AutoConfig
    more = _halved(AutoConfig.for_model(kind, **changes), names, least)
    return _merged(changes, more) if more else None


def _halved(config, names, least):
    changes = {}
    for name, value in vars(config).items():
        if name in names and isinstance(value, int) and not isinstance(value, bool) and value > least:
            changes[name] = max(value // 2, least)
        elif hasattr(value, "model_type") and hasattr(value, "to_dict"):
            inner = _halved(value, names, least)
            if inner:
                changes[name] = {"model_type": value.model_type, **inner} if name.endswith("_config") else inner
    return changes


def _merged(changes, more):
    both = dict(changes)
    for name, value in more.items():
        both[name] = {**both.get(name, {}), **value} if isinstance(value, dict) else value
    return both


def reduced(kind):
    """(changes, parameters) of an architecture that is no giant, or as small as the rule makes it."""
    changes, size = {}, parameters_of(kind, {})
    for names, least in STEPS:
        smaller = changes
        while size > GIANT and (smaller := halved(kind, smaller, names, least)) is not None:
            try:
                size, changes = parameters_of(kind, smaller), smaller
            except TimeoutError:
                raise
            except Exception:  # lists of the configuration that go with its number of layers
                continue
    return changes, size


@contextlib.contextmanager
def time_limit(seconds):
    """@raises TimeoutError in what runs under it"""
    def stop(number, frame):
        raise TimeoutError(f"not made within {seconds} seconds")
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def why_left_out(kind, parts, only_decoders):
    if only_decoders:
        return None if is_text_decoder(kind) else "no text decoder"
    if not has_class(kind):
        return "no model class"
    if kind in parts and not has_task(kind):
        return "part of another architecture"
    return None


def draw(seed, count, only_decoders=False):
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    names, parts = sorted(CONFIG_MAPPING_NAMES), parts_of_others()
    random.Random(seed).shuffle(names)
    drawn, left_out = [], []
    for kind in names:
        if len(drawn) == count:
            break
        why = why_left_out(kind, parts, only_decoders)
        try:
            with time_limit(PATIENCE):
                changes, size = ({}, 0) if why else reduced(kind)
        except Exception as error:  # of transformers' own code
            why = f"its default configuration makes no model: {type(error).__name__}: {error}".split("\n")[0][:160]
        print(kind, why or f"{size / 1e6:.0f} million parameters", file=sys.stderr, flush=True)
        if why:
            left_out.append({"name": kind, "why": why})
        else:
            drawn.append({"config": {"model_type": kind, **changes}, "parameters": size})
    return {"seed": seed, "transformers": __version__, "drawn": drawn, "left_out": left_out}


if __name__ == "__main__":
    seed, count, output, *kinds = sys.argv[1:]
    result = draw(seed, int(count), kinds == ["decoders"])
    with open(output, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
