"""LLaMA-Factory's own parser of a file (`llamafactory-cli train FILE`)."""

import yaml
from llamafactory.hparams import get_train_args
from training_arguments import meaning_of
from words import TYPES, named


def quantization_of(model):
    if model.quantization_bit is None:
        return "none"
    return "int8" if model.quantization_bit == 8 else model.quantization_type


def meaning(request):
    model, data, arguments, tuning, _ = get_train_args(yaml.safe_load(request["files"]["train.yaml"]))
    checkpoints = not model.disable_gradient_checkpointing or arguments.gradient_checkpointing  # Trainer turns it on, too
    muon = {"optimizer": "muon", "fused": False} if tuning.use_muon else {}  # train/trainer_utils.py makes its own
    weights = TYPES.get(named(model.compute_dtype))
    return {**meaning_of(arguments), "checkpointing": checkpoints, "sequence": data.cutoff_len,
            "lora": tuning.lora_rank if tuning.finetuning_type == "lora" else 0, "quantize": quantization_of(model),
            **muon, **({"compute": weights} if weights else {})}
