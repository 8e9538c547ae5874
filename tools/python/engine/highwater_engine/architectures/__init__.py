"""An architecture of transformers as the model of a script: its class, what it is fed, and where its loss is from.

A configuration says much of this and not all, so there are several ways to train it, the likeliest first; the one that
is taken is the first whose script runs (serve.py).
"""
import dataclasses
import importlib
import json

from .. import models
from ..asking import UnknownModel
from ..given import Given
from . import pairs, photographs, places, tasks
from .inputs import CHOICES, Inputs, batch_of, forms_of, has_targets, label_parts, mask_of, masked_of, wanted
from .sizes import Sizes, Unknown, first, fitted, text_part

MOST_TASKS = 3  # that are tried


EXAMPLES = """

class Examples(torch.utils.data.Dataset):
    def __len__(self):
        return {examples}

    def __getitem__(self, index):
        return {{{fields}}}

"""


def encoder_of(text, given=Given()):
    """The way to train the model of a config.json on pairs of texts. @raises UnknownModel"""
    settings = json.loads(text)
    name = pairs.class_of(_config(settings))
    without_head = json.dumps({**settings, "architectures": [name]})
    model = next(model for model in models_of(without_head, given) if model.name == name)
    return pairs.of(model, text_part(_config(settings)))


def models_of(text, given=Given(), labels=0):
    """The ways to train the model of a config.json, the likeliest first.

    labels: of a head that sorts; 0: the head that the file says. @raises UnknownModel
    """
    settings = _with_head(json.loads(text), labels)
    config = _config(settings)
    read = Read(config, json.dumps(settings), given, fitted(config, given))
    named = settings.get("architectures") or ()
    found = tasks.of(config, named)
    if not found:
        raise UnknownModel(_no_class(config, named))
    made, problem = [], None
    for task, name in [*found[:MOST_TASKS], *(pair for pair in found[MOST_TASKS:] if pair[0].auto_class == "AutoModel")]:
        try:
            made += _ways(task, name, read)
        except Unknown as error:
            problem = problem or f"{name} needs {error}; give a FILE.py:function that makes the model and its batch"
    if not made:
        raise UnknownModel(problem)
    return made


def _no_class(config, named):
    if named:
        return (f"no auto class of the installed transformers makes {', '.join(map(str, named))} from model_type "
                f"'{config.model_type}'; delete architectures for the model's own task, or give a FILE.py:function that makes "
                "the model and its batch")
    return f"model_type '{config.model_type}' is unknown to the installed transformers, or has no model of its own"


def _with_head(settings, labels):
    """The settings of a model that sorts into so many classes. @raises UnknownModel"""
    if not labels:
        return settings
    name = tasks.classifier(_config(settings), settings.get("architectures") or ())
    if name is None:
        raise UnknownModel(f"--num-labels {labels}: transformers has no class that sorts texts, images, sounds or videos for "
                           f"model_type '{settings.get('model_type')}'; omit it")
    sizes = {key: value for key, value in settings.items() if key not in ("id2label", "label2id")}
    return {**sizes, "architectures": [name], "num_labels": labels}


def _config(settings):
    from transformers import AutoConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    kind = settings.get("model_type")
    if kind not in CONFIG_MAPPING_NAMES:
        own = "; its folder brings code of its own, which is not run: give FILE.py:function" \
            if "auto_map" in settings else ""
        raise UnknownModel(f"model_type '{kind}' is unknown to the installed transformers{own}")
    try:
        return AutoConfig.for_model(kind, **{key: value for key, value in settings.items() if key != "model_type"})
    except (KeyError, ValueError, TypeError) as error:
        raise UnknownModel(f"transformers does not take this config.json: {error}") from None


@dataclasses.dataclass(frozen=True)
class Read:
    """A config.json, with what a plan gives of its sizes."""
    config: object
    text: str
    given: Given
    lines: list  # of a script: the sizes that the configuration takes


def _ways(task, name, read):
    """The class with its labels, then without, each with its inputs in the forms that they may have. @raises Unknown"""
    cls = class_called(name)
    ways, problem = [], None
    for labels in dict.fromkeys((task.labels, *(["parts"] if label_parts(cls) else []), "none")):
        for form in forms_of(cls):
            try:
                ways.append(_model(task, cls, read, labels, form))
            except Unknown as error:
                problem = problem or error
    if not ways:
        raise problem
    return ways


def _is_plain_text(cls, config, task):
    return task.labels == "tokens" and wanted(cls, True) == ["input_ids"] and hasattr(config, "vocab_size")


def _model(task, cls, read, labels, form):
    """@raises Unknown"""
    import transformers
    config = read.config
    model = models.of_transformers(task.auto_class, block_of(cls), task.peft, prepare=_prepared(task, cls, read))
    model = models.with_files(model, {"config.json": read.text})
    model = dataclasses.replace(model, imports=f"{model.imports}, set_seed")
    if labels != "none" and _is_plain_text(cls, config, task):
        return dataclasses.replace(model, name=cls.__name__, longest=longest(cls, config), targets=has_targets(config))
    inputs = _inputs(task, cls, read, form, labels)
    batch = batch_of(inputs, labels)
    found = places.find(getattr(transformers, task.auto_class), inputs, batch.fields)
    if found is not None:
        inputs = _inputs(task, cls, read, form, labels)
        inputs.place_token, inputs.places = found
        batch = batch_of(inputs, labels)
    fields = ", ".join(f'"{name}": {expression}' for name, expression in batch.fields.items())
    imports = model.imports + ("\nfrom torch.utils._pytree import tree_leaves" if batch.loss else "")
    return dataclasses.replace(model, imports=imports, data=EXAMPLES, fields=fields, dataset="Examples()",
                               loss=batch.loss or model.loss, constants=batch.constants, arranges=batch.arranges,
                               mask=mask_of(inputs, batch), masked=masked_of(inputs, batch), targets=labels == "tokens" and has_targets(config), name=cls.__name__, longest=longest(cls, config),
                               sizes=frozenset(inputs.sizes.used), varies="{batch}" in fields,
                               fed=", ".join(batch.fields) + ("" if not batch.loss else ", and the mean of its first output"))


def _inputs(task, cls, read, form, labels):
    sizes = Sizes(read.config, read.given, photographs.size_for(read.config, task.labels), photographs.several_for(read.config, task.labels))
    return Inputs(cls, sizes, form, CHOICES if labels == "choice" else 0)


def _prepared(task, cls, read):
    """The lines before the model is made."""
    config = read.config
    lines = ["set_seed(0)", 'config = AutoConfig.from_pretrained(".")', *read.lines]
    if tasks.has_several(task, config) and not config.architectures:  # the auto class asks which
        lines.append(f'config.architectures = ["{cls.__name__}"]')
    if getattr(config, "is_encoder_decoder", False):
        pad = getattr(config, "pad_token_id", None)
        if pad is None:
            lines.append("config.pad_token_id = 0")
        if getattr(config, "decoder_start_token_id", None) is None:
            lines.append("config.decoder_start_token_id = config.pad_token_id")
    return "\n".join(lines)


def class_called(name):
    import transformers
    return getattr(transformers, name)


def longest(cls, config):
    """Tokens that the model's table of positions is for; None where positions are computed."""
    text = text_part(config)
    if first(text, (), "rope_parameters", "rope_scaling", "rope_theta", "rotary_dim", "alibi") is not None:
        return None
    if first(text, (), "relative_attention_num_buckets") is not None and first(text, (), "max_position_embeddings") is None:
        return None  # T5 and its kin: n_positions is nothing that their code reads
    table = first(text, (), "max_position_embeddings", "n_positions", "max_target_positions")
    if not isinstance(table, int) or table < 1:
        return None
    module = importlib.import_module(cls.__module__)
    if hasattr(module, "create_position_ids_from_input_ids"):  # positions begin after the padding's
        table -= (getattr(text, "pad_token_id", None) or 0) + 1
    return table


def block_of(cls):
    """(module, class) of the block that FSDP shards: the first of _no_split_modules."""
    module = importlib.import_module(cls.__module__)
    names = getattr(cls, "_no_split_modules", None) or ()
    names = names if isinstance(names, (list, tuple)) else sorted(names)
    return next(((module.__name__, name) for name in names if hasattr(module, name)), ())
