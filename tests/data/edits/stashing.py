"""77 GiB in use, 93 GiB reserved: stashing.py [preallocate | empty_cache]

The shape of torchrec's pull request 4584: embedding weights leave the device during the dense forward pass, and come
back before the backward pass. A first, smaller step leaves segments in the cache that no later request fits in.
"""
import sys

import torch

GIB = 1 << 30
EDIT = sys.argv[1] if len(sys.argv) > 1 else "none"


def block(gibibytes):
    return torch.empty(gibibytes * GIB, dtype=torch.uint8, device="cuda")


if EDIT == "preallocate":
    block(77)
dense = block(5)
table = block(16)
head = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(head.parameters())
for step in range(6):
    is_warm = step > 0
    if is_warm:
        table.untyped_storage().resize_(0)
    activations = [block(2 if is_warm else 1) for _ in range(28 if is_warm else 16)]
    loss = head(torch.empty(4, 8, device="cuda")).sum()
    if is_warm:
        table.untyped_storage().resize_(16 * GIB)
    loss.backward()
    activations.clear()
    del loss
    optimizer.step()
    optimizer.zero_grad()
    if EDIT == "empty_cache":
        torch.cuda.empty_cache()
