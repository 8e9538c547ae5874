"""train_with_trainer.py DTYPE [KEY=VALUE ...]: Llama 3.2 1B on random tokens with transformers' Trainer.

KEY=VALUE are members of TrainingArguments."""
import json
import sys
import tempfile

import torch
from transformers import Trainer, TrainingArguments

import configurations

LENGTH = 2048


class RandomTokens(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        ids = torch.randint(0, 128000, (LENGTH,))
        return {"input_ids": ids, "labels": ids}


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main():
    dtype, *members = sys.argv[1:]
    chosen = {key: value(text) for key, _, text in (member.partition("=") for member in members)}
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(output_dir=folder, max_steps=3, per_device_train_batch_size=2, report_to=[],
                                     save_strategy="no", **chosen)
        Trainer(model=configurations.make("llama-3.2-1b", dtype), args=settings, train_dataset=RandomTokens()).train()


main()
