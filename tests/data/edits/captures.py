"""Captures of one model at several batch sizes, as servers make them: captures.py [MODE]

none: each capture in a pool of its own, all on one stream. Modes share the pool (one_pool), use a stream for each
capture in it (own_streams), capture in another order (order, order_own), in two pools (two_pools), or the second size
twice (twice).
"""
import os
import sys

import torch

BATCHES = (32, 17, 24, 5)
ORDERS = {"order": (1, 3, 0, 2), "order_own": (3, 2, 1, 0), "twice": (0, 1, 1, 2, 3)}
MIB = 1 << 20


def memory(size):
    return torch.empty(int(size), dtype=torch.uint8, device="cuda")


def model(batch):
    """Layers keep what the last one needs, and free the rest as they go."""
    states = memory(batch * 0.3 * MIB)
    held = []
    for layer in range(3):
        wide = memory(batch * 1.1 * MIB)
        held.append(memory(batch * 0.04 * MIB))
        states = memory(batch * (0.3 + 0.01 * layer) * MIB)
        del wide
        if layer == 1:
            held.pop(0)
    return memory(batch * 0.02 * MIB), states


def main(mode):
    weights = [memory(9 * MIB) for _ in range(5)]
    weights.append(memory(300 * MIB))  # the cache of keys and values lives as long as they do
    loading = [memory(14 * MIB), memory(3 * MIB)]
    del loading
    shared = mode in ("one_pool", "own_streams", "order", "twice")
    pools = [torch.cuda.graph_pool_handle() for _ in range(2)]
    inputs, graphs, outputs = [], [], []
    for number in ORDERS.get(mode, range(len(BATCHES))):
        batch = BATCHES[number]
        inputs.append(memory(batch * 0.01 * MIB))
        warm = model(batch)
        del warm
        pool = pools[0] if shared else pools[number // 2] if mode == "two_pools" else None
        stream = torch.cuda.Stream() if mode == "own_streams" else None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=stream):
            logits, states = model(batch)
        graphs.append(graph)
        outputs.append(logits)
    answers = [memory(2.5 * MIB) for _ in range(4)]
    del answers
    sys.stdout.flush()
    os._exit(0)  # what Python frees when it ends, and in which order, says nothing of captures


main(sys.argv[1] if len(sys.argv) > 1 else "none")
