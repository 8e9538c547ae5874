"""DistributedDataParallel, one process per GPU: what rank 0 needs, or any other.

    highwater record --gpu a100-80 --steps 3 -- torchrun --nproc-per-node 8 ddp.py
    highwater record --gpu a100-80 --steps 3 --world 64 --rank 9 -- torchrun --nnodes 8 --nproc-per-node 8 ddp.py
"""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
layers = [layer for _ in range(8) for layer in (torch.nn.Linear(2048, 2048), torch.nn.GELU())]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), device_ids=[device])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(100):
    loss = model(torch.randn(64, 2048, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if dist.get_rank() == 0:
        print(f"step {step} of {dist.get_world_size()} ranks")
dist.destroy_process_group()
