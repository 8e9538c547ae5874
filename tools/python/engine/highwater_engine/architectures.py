"""Which class of transformers a config.json is for, what it is fed, and where its loss is from."""
import dataclasses
import importlib
import json
from collections.abc import Callable
from typing import Optional

from . import models


class UnknownModel(Exception):
    """The message says what is known."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What a model is trained for: the auto class, and a batch that its forward takes."""
    mapping: str         # of modeling_auto: model_type -> class
    auto_class: str
    peft: str = "FEATURE_EXTRACTION"
    fields: Optional[Callable] = None  # (config) -> lines of an example; None: tokens and labels


def _first(config, *names, default=None):
    """The first of these fields that the config, or a part of it, has."""
    for part in (config, *(getattr(config, name, None) for name in ("vision_config", "audio_config", "encoder_config",
                                                                    "backbone_config", "text_config"))):
        for name in names:
            value = getattr(part, name, None) if part is not None else None
            if value is not None:
                return value
    return default


def _pixels(config):
    size = _first(config, "image_size", default=224)
    if isinstance(size, dict):
        size = (size.get("height", 224), size.get("width", 224))
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return f"torch.randn({_first(config, 'num_channels', default=3)}, {height}, {width})"


def _frames(config):
    """Spectrogram frames for encoders that take a fixed number of them."""
    bins = _first(config, "num_mel_bins", "input_feat_per_channel", "input_dim", default=80)
    frames = 2 * _first(config, "max_source_positions", default=500)
    return bins, frames


def _image(config):
    return f'"pixel_values": {_pixels(config)}, "labels": torch.tensor(0)'


def _mask_of_image(config):
    size = _pixels(config).removeprefix("torch.randn(").removesuffix(")").split(", ")
    return f'"pixel_values": {_pixels(config)}, "labels": torch.zeros({size[1]}, {size[2]}, dtype=torch.long)'


def _speech_and_text(config):
    bins, frames = _frames(config)
    shape = f"{bins}, {frames}" if config.model_type == "whisper" else f"{frames}, {bins}"
    return f'"input_features": torch.randn({shape}), "labels": torch.randint(0, config.vocab_size, ({{seq}},))'


def _waveform(config):
    return '"input_values": torch.randn(16000), "labels": torch.randint(1, config.vocab_size, (8,))'


def _sound(config):
    return '"input_values": torch.randn(16000), "labels": torch.tensor(0)'


# In the order in which they are tried: a model is trained for the first task that it has a class for.
TASKS = (
    Task("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "AutoModelForCausalLM", "CAUSAL_LM"),
    Task("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "AutoModelForSeq2SeqLM", "SEQ_2_SEQ_LM"),
    Task("MODEL_FOR_MASKED_LM_MAPPING_NAMES", "AutoModelForMaskedLM"),
    Task("MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES", "AutoModelForSpeechSeq2Seq", fields=_speech_and_text),
    Task("MODEL_FOR_CTC_MAPPING_NAMES", "AutoModelForCTC", fields=_waveform),
    Task("MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES", "AutoModelForAudioClassification", fields=_sound),
    Task("MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES", "AutoModelForImageClassification", fields=_image),
    Task("MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES", "AutoModelForSemanticSegmentation", fields=_mask_of_image),
)

EXAMPLES = """

class Examples(torch.utils.data.Dataset):
    def __len__(self):
        return {examples}

    def __getitem__(self, index):
        return {{{fields}}}

"""


def model_of(named):
    """named: {"config": text of a config.json}. @raises UnknownModel"""
    settings = json.loads(named["config"])
    kind = settings.get("model_type")
    from transformers import AutoConfig
    from transformers.models.auto import modeling_auto
    try:
        config = AutoConfig.for_model(**settings)
    except (KeyError, ValueError, TypeError) as error:
        raise UnknownModel(f"transformers does not take this config.json: {error}") from None
    for task in TASKS:
        classes = getattr(modeling_auto, task.mapping)
        if kind in classes:
            return _model(task, config, classes[kind], settings)
    if kind in modeling_auto.MODEL_MAPPING_NAMES:
        return _headless(config, modeling_auto.MODEL_MAPPING_NAMES[kind], settings)
    raise UnknownModel(f"model_type '{kind}' is unknown to the installed transformers, or has no model of its own")


def _model(task, config, class_name, settings):
    model = models.of_transformers(task.auto_class, _block(class_name), task.peft)
    model = models.with_files(model, {"config.json": json.dumps(settings)})
    if task.fields is not None:
        model = dataclasses.replace(model, data=EXAMPLES, fields=task.fields(config), dataset="Examples()")
    return model


def _headless(config, class_name, settings):
    """A model without a head of its own is trained on the mean of its first output."""
    inputs = {"pixel_values": lambda: f'"pixel_values": {_pixels(config)}',
              "input_values": lambda: '"input_values": torch.randn(16000)',
              "input_features": lambda: '"input_features": torch.randn({1}, {0})'.format(*_frames(config))}
    main = getattr(_class(class_name), "main_input_name", "input_ids")
    fields = inputs.get(main, lambda: '"input_ids": torch.randint(0, {vocabulary}, ({seq},))')()
    model = models.of_transformers("AutoModel", _block(class_name), "FEATURE_EXTRACTION")
    model = models.with_files(model, {"config.json": json.dumps(settings)})
    vocabulary = str(_first(config, "vocab_size", default=1000))
    return dataclasses.replace(model, data=EXAMPLES, fields=fields.replace("{vocabulary}", vocabulary),
                               dataset="Examples()", loss="outputs[0].float().mean()")


def _class(name):
    import transformers
    return getattr(transformers, name[0] if isinstance(name, (tuple, list)) else name)


def _block(class_name):
    """(module, class) of the block that FSDP shards: the first of _no_split_modules."""
    model = _class(class_name)
    module = importlib.import_module(model.__module__)
    names = getattr(model, "_no_split_modules", None) or ()
    return next(((module.__name__, name) for name in names if hasattr(module, name)), ())
