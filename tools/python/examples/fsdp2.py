"""Fully sharded data parallel (fully_shard), with bf16 parameters and sharded over all ranks.

    highwater record --gpu h100-80 --steps 3 --world 8 -- python3 fsdp2.py
"""
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
layers = [torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, device="meta") for _ in range(12)]
model = torch.nn.Sequential(*layers)
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in model:
    fully_shard(layer, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(100):
    loss = model(torch.randn(8, 512, 1024, device="cuda")).float().square().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
print("rank", dist.get_rank())
