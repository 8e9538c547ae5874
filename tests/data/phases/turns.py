"""A trainer and an engine that generates, on one GPU: alone, or in turns.

  turns.py engine|trainer|both CYCLES

In turns, the engine's weights and cache leave the GPU while the trainer runs (`both`); alone, each does its part of every
cycle. tests/sim/phases and tools/docs/phases.md compare the recordings of the parts, put together, with that of both.
"""

import sys

import torch
from torch import nn

CACHE = (24, 64, 1024, 512)  # layers, sequences, tokens, width: 1.5 GiB in bfloat16


def linears(count, width, **options):
    return nn.Sequential(*[nn.Linear(width, width, bias=False, device="cuda", **options) for _ in range(count)])


class Engine:
    """Weights and a cache, and growing activations while it generates."""

    def __init__(self):
        self.model = linears(24, 2048, dtype=torch.bfloat16).requires_grad_(False)
        self.cache = torch.empty(CACHE, dtype=torch.bfloat16, device="cuda")

    def generate(self):
        with torch.no_grad():
            for tokens in (512, 640, 800, 1000):
                states = torch.empty(64, tokens, 2048, dtype=torch.bfloat16, device="cuda")
                for layer in self.model:
                    states = layer(states)

    def sleep(self):
        for parameter in self.model.parameters():
            parameter.data = parameter.data.cpu()
        self.cache = None
        torch.cuda.empty_cache()

    def wake(self):
        for parameter in self.model.parameters():
            parameter.data = parameter.data.cuda()
        self.cache = torch.empty(CACHE, dtype=torch.bfloat16, device="cuda")


class Trainer:
    def __init__(self):
        self.model = linears(16, 2048)
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self):
        batch = torch.empty(8192, 2048, device="cuda")
        self.model(batch).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def main(who, cycles):
    engine = Engine() if who != "trainer" else None
    trainer = None
    for cycle in range(cycles):
        if engine:
            engine.generate()
        if who == "both":
            engine.sleep()
        if who != "engine":
            trainer = trainer or Trainer()
            trainer.step()
        if who == "both" and cycle + 1 < cycles:
            engine.wake()


main(sys.argv[1], int(sys.argv[2]))
