#!/usr/bin/env python3
"""Trains transformers' ...ForSequenceClassification of a configuration in a plain loop.

  highwater record --steps 3 --output run.pickle -- python3 train_classifier.py config.json [options]
"""

import argparse
import json
from pathlib import Path

import torch
import transformers


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="its num_labels, too")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--amp", action="store_true", help="bf16 autocast around the forward")
    parser.add_argument("--padded", action="store_true", help="with a mask of ones")
    parser.add_argument("--checkpoint", choices=["reentrant", "nonreentrant"])
    return parser.parse_args()


def make_model(options):
    settings = json.loads(Path(options.config).read_text())
    settings.pop("architectures", None)
    config = transformers.CONFIG_MAPPING[settings.pop("model_type")](**settings)
    config.use_cache = False
    kind = transformers.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(config)]
    model = kind._from_config(config, dtype=getattr(torch, options.dtype)).to("cuda")
    if options.checkpoint:
        model.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": options.checkpoint == "reentrant"})
    return model.train()


def main():
    options = parse()
    model = make_model(options)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        on_host = torch.randint(3, 100, (options.batch, options.seq))
        tokens = on_host.to("cuda")
        labels = torch.zeros(options.batch, dtype=torch.long).to("cuda")
        mask = {"attention_mask": torch.ones_like(on_host).to("cuda")} if options.padded else {}
        with torch.autocast("cuda", torch.bfloat16, enabled=options.amp):
            loss = model(input_ids=tokens, labels=labels, **mask).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
