"""A Llama over all ranks, each block compiled and sharded."""
import os

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import AutoConfig, AutoModelForCausalLM

config = AutoConfig.from_pretrained(".")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config)
mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for block in model.model.layers:
    block.compile()
    fully_shard(block, mp_policy=mixed)
fully_shard(model, mp_policy=mixed)
model.to_empty(device="cuda")
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for _ in range(3):
    ids = torch.randint(0, config.vocab_size, (2, 256))
    batch = {"input_ids": ids, "labels": ids.clone()}
    batch = {name: tensor.to("cuda") for name, tensor in batch.items()}
    outputs = model(**batch)
    loss = outputs.loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
