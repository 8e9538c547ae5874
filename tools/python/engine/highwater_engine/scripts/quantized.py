"""Weights in 4 and 8 bits (bitsandbytes, torchao), which from_pretrained() quantises while it reads them."""
from .lines import TORCH_TYPES, text

# Beside the script, in the place of a checkpoint that its user has: the sizes and types of one, and no data.
CHECKPOINT = '''"""A checkpoint whose weights are holes of its file: it is read as any other, and takes no space."""
import json
import os
import struct

import torch

WORDS = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


def checkpoint(factory, config, dtype, folder="checkpoint"):
    with torch.device("meta"):
        model = factory.from_config(config, dtype=dtype)
    tied = set(model.all_tied_weights_keys)
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in model.state_dict().items():
        if name not in tied:
            begin, end = end, end + tensor.numel() * tensor.element_size()
            header[name] = {"dtype": WORDS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    words = json.dumps(header).encode()
    os.makedirs(folder, exist_ok=True)
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(words)) + words)
        file.truncate(8 + len(words) + end)
    return folder
'''

TORCHAO = {"int8-weight-only": "Int8WeightOnlyConfig"}  # classes of torchao.quantization

FILES = {"checkpoint.py": CHECKPOINT}


def weights_type(job):
    return TORCH_TYPES[job["weights"]]


def configuration(job):
    """The expression of BitsAndBytesConfig or TorchAoConfig."""
    if job["quantize"] in TORCHAO:
        return f"TorchAoConfig({TORCHAO[job['quantize']]}())"
    if job["quantize"] == "int8":
        return "BitsAndBytesConfig(load_in_8bit=True)"
    arguments = [f'bnb_4bit_quant_type="{job["quantize"]}"',
                 f"bnb_4bit_compute_dtype={TORCH_TYPES[job['quant_compute_dtype']]}"]
    arguments += ["bnb_4bit_use_double_quant=True"] if job["double_quant"] else []
    arguments += [f"bnb_4bit_quant_storage={TORCH_TYPES[job['quant_storage']]}"] if job["quant_storage"] != "uint8" else []
    return f"BitsAndBytesConfig(load_in_4bit=True, {', '.join(arguments)})"


def device(job):
    """bitsandbytes' layers go to the GPU by themselves."""
    return ', device_map={"": 0}' if job["quantize"] in TORCHAO else ""


def loaded(job):
    """The expression that makes the model."""
    factory = job["model"].expression.split(".from_config")[0]
    attention = f', attn_implementation="{job["attention"]}"' if job["attention"] else ""
    return (f"{factory}.from_pretrained(checkpoint({factory}, config, {weights_type(job)}), config=config, "
            f"dtype={weights_type(job)}, quantization_config={configuration(job)}{device(job)}{attention})")


def prepared(job):
    """PEFT's preparation, which also turns checkpointing on; empty without it."""
    if not job["prepares_kbit"]:
        return ""
    kwargs = ""
    if job["checkpoint"] and not job["reentrant"] and not job["checkpoints_itself"]:
        kwargs = ', gradient_checkpointing_kwargs={"use_reentrant": False}'
    return f"model = prepare_model_for_kbit_training(model, use_gradient_checkpointing={job['checkpoint']}{kwargs})"


def imports(job):
    return text("from checkpoint import checkpoint",
                "from peft import prepare_model_for_kbit_training" if job["prepares_kbit"] else "", imported_configuration(job))


def imported_configuration(job):
    """The classes of configuration()."""
    kind = TORCHAO.get(job["quantize"])
    return text(f"from torchao.quantization import {kind}" if kind else "",
                f"from transformers import {'TorchAoConfig' if kind else 'BitsAndBytesConfig'}")
