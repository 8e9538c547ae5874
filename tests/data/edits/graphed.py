"""torch.cuda.make_graphed_callables, called once for each size of images: graphed.py [MODE]

none: each call makes a pool. pool: all calls are given the same one. pool_and_stream: and each call, which makes a
stream for its warm-up and captures (PyTorch 2.15, torch/cuda/graphs.py), is handed the same one.
"""
import sys

import torch
from torch import nn

SIDES = (384, 352, 320, 288, 256, 224)


def model():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(64, 8, 3, padding=1)).cuda()


def share_stream():
    made = torch.cuda.Stream
    shared = made()
    torch.cuda.Stream = lambda *args, **options: made(*args, **options) if args or options else shared


def main(mode):
    if mode == "pool_and_stream":
        share_stream()
    pool = None if mode == "none" else torch.cuda.graph_pool_handle()
    graphed = []
    for side in SIDES:
        images = torch.randn(4, 3, side, side, device="cuda")
        graphed.append(torch.cuda.make_graphed_callables(model(), (images,), allow_unused_input=True, pool=pool))
    print(torch.cuda.memory_reserved() >> 20, "MiB reserved", flush=True)


main(sys.argv[1] if len(sys.argv) > 1 else "none")
