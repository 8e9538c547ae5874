#!/usr/bin/env python3
"""A script's own loop around accelerate's Accelerator, as transformers' run_*_no_trainer.py have it.

  highwater record --steps 3 --output run.pickle -- python3 train_with_accelerator.py config.json [options]
"""

import argparse
import json
from pathlib import Path

import torch
import transformers
from accelerate import Accelerator


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--classes", type=int, help="sort sequences in the place of predicting words")
    parser.add_argument("--mixed", choices=["no", "bf16", "fp16"], default="no", help="mixed_precision of the Accelerator")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches per step")
    parser.add_argument("--clip", type=float, help="of the gradient norm")
    return parser.parse_args()


def make_model(options):
    settings = json.loads(Path(options.config).read_text())
    settings.pop("architectures", None)
    config = transformers.CONFIG_MAPPING[settings.pop("model_type")](**settings)
    if options.classes:
        config.num_labels, config.pad_token_id = options.classes, 0
        return transformers.AutoModelForSequenceClassification.from_config(config)
    return transformers.AutoModelForCausalLM.from_config(config)


def examples(options):
    for _ in range(4 * options.accumulate * options.batch):
        tokens = torch.randint(3, 100, (options.seq,))
        yield {"input_ids": tokens, "labels": torch.tensor(0) if options.classes else tokens}


def main():
    options = parse()
    accelerator = Accelerator(mixed_precision=options.mixed, gradient_accumulation_steps=options.accumulate)
    model = make_model(options)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(list(examples(options)), batch_size=options.batch)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        with accelerator.accumulate(model):
            outputs = model(**batch)
            loss = outputs.loss
            accelerator.backward(loss)
            if options.clip and accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), options.clip)
            optimizer.step()
            optimizer.zero_grad()


main()
