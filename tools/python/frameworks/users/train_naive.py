#!/usr/bin/env python3
"""Trains a model of transformers that accelerate spreads over the GPUs of one process.

  highwater record --world N --steps 3 --output run.pickle -- python3 train_naive.py config.json --gpus N [options]

Blocks go to the GPUs in even shares, every list of them alike; a norm beside a list is on the last GPU, the head as well
unless it is tied; all else is on the first.
"""

import argparse
import json
from pathlib import Path

import accelerate
import torch
import transformers


def starts(blocks, gpus):
    """Where each GPU's blocks begin: rounded-down shares, the remainder one by one from the second GPU on."""
    share, extra = divmod(blocks, gpus)
    shares = [share + (0 < gpu <= extra) for gpu in range(gpus)]
    return [sum(shares[:gpu]) for gpu in range(gpus)]


def gpu_of(block, blocks, gpus):
    return sum(block >= start for start in starts(blocks, gpus)) - 1


def is_block_list(module):
    return isinstance(module, torch.nn.ModuleList) and len(module) > 1


def placed_beside(module, path, gpus):
    """The GPUs of a module's children, one of which is a list of blocks."""
    for name, child in module.named_children():
        if is_block_list(child):
            yield from ((f"{path}{name}.{i}", gpu_of(i, len(child), gpus)) for i in range(len(child)))
        elif any(True for _ in child.parameters()) or any(True for _ in child.buffers()):
            yield f"{path}{name}", gpus - 1 if "norm" in type(child).__name__.lower() and not is_first_norm(name) else 0


def is_first_norm(name):
    return "embed" in name


def device_map_of(module, gpus, path=""):
    """None where there is no list of blocks below."""
    if any(is_block_list(child) for child in module.children()):
        return dict(placed_beside(module, path, gpus))
    below = {name: device_map_of(child, gpus, f"{path}{name}.") for name, child in module.named_children()}
    if not any(below.values()):
        return None
    whole = {}
    for name, inner in below.items():
        whole.update(inner or {f"{path}{name}": 0})
    return whole


def class_for(config, options):
    if options.model_class:
        return getattr(transformers, options.model_class)
    for classes in (transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING, transformers.MODEL_FOR_CAUSAL_LM_MAPPING):
        if type(config) in classes:
            return classes[type(config)]
    raise SystemExit(f"{options.config}: no language model for this configuration; name one with --model-class")


def make_model(options):
    settings = json.loads(Path(options.config).read_text())
    config = transformers.CONFIG_MAPPING[settings.pop("model_type")](**settings)
    config.use_cache = options.use_cache
    if options.experts:
        config._experts_implementation = options.experts
    return class_for(config, options)._from_config(config, dtype=getattr(torch, options.dtype), **options.attention)


def spread(model, gpus):
    places = device_map_of(model, gpus)
    head = model.get_output_embeddings()
    for name, module in model.named_modules():
        if module is head:
            for path in [path for path in places if path.startswith(name)]:
                del places[path]
            places[name] = 0 if model.config.tie_word_embeddings else gpus - 1
    for module in model.modules():  # buffers that no entry names are on the first GPU, as from_pretrained has them
        if any(is_block_list(child) for child in module.children()):
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to("cuda:0"))
    return accelerate.dispatch_model(model, places, skip_keys=["past_key_values", "cache"])


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--experts")
    parser.add_argument("--model-class")
    parser.add_argument("--checkpoint", choices=["reentrant", "nonreentrant"])
    parser.add_argument("--clip", type=float)
    parser.add_argument("--padded", action="store_true", help="with a mask of ones")
    parser.add_argument("--attention", type=lambda name: {"attn_implementation": name}, default={})
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--use-cache", action="store_true")
    parser.add_argument("--amp", action="store_true", help="bf16 autocast around the forward")
    return parser.parse_args()


def main():
    options = parse()
    model = make_model(options)
    if options.checkpoint:
        model.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": options.checkpoint == "reentrant"})
    model.train()
    model = spread(model, options.gpus)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        for _ in range(options.accumulate):
            on_host = torch.randint(0, 100, (options.batch, options.seq))
            tokens = on_host.to("cuda:0")
            labels = on_host.clone().to("cuda:0")
            mask = {"attention_mask": torch.ones_like(on_host).to("cuda:0")} if options.padded else {}
            with torch.autocast("cuda", torch.bfloat16, enabled=options.amp):
                loss = model(input_ids=tokens, labels=labels, **mask).loss
            if options.accumulate > 1:
                loss = loss / options.accumulate
            loss.backward()
        if options.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
        optimizer.zero_grad()


main()
