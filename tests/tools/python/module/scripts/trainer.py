"""Trains a GPT-2 that does not fit, with the Trainer's callback."""
import sys

import torch
from highwater.transformers import WatchCallback
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(GPT2Config(n_layer=4))
rows = [{"input_ids": torch.zeros(512, dtype=torch.long), "labels": torch.zeros(512, dtype=torch.long)}] * 64
arguments = TrainingArguments("unused", per_device_train_batch_size=64, max_steps=2, report_to=[], save_strategy="no")
Trainer(model, arguments, train_dataset=rows, callbacks=[WatchCallback(sys.argv[1])]).train()
