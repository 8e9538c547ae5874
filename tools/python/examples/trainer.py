"""A Hugging Face Trainer, with a model from its configuration and made-up tokens.

    highwater record --gpu l40s --steps 3 -- python3 trainer.py
"""
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        tokens = torch.randint(0, 50257, (512,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, gradient_checkpointing=True, bf16=True,
                                  max_steps=10, logging_steps=1, report_to="none", save_strategy="no")
    Trainer(model=GPT2LMHeadModel(GPT2Config()), args=arguments, train_dataset=Tokens()).train()
