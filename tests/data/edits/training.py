"""A small training program and its edits, each made in the program itself: training.py [EDIT]

Recorded without and with each edit, these runs are the truth that `replay --edit` is compared with
(tests/tools/edits/edits_truth_test.cpp, traces/recorded/edits). Batches of varying length come on a stream of
their own, a scratch buffer lives through half of each step, and what is logged of a step outlives it.
"""
import contextlib
import sys

import torch

EDIT = sys.argv[1] if len(sys.argv) > 1 else "none"
LENGTHS = [3000, 9000, 5000, 12000, 7000, 3000, 10000, 4000]
side = torch.cuda.Stream()
pool = torch.cuda.MemPool() if EDIT == "move_pool" else None


def batch(length):
    with torch.cuda.stream(side):
        return torch.empty(length, 256, device="cuda")


def mask(length):
    with torch.cuda.stream(side):
        kept = torch.empty(length, 128, device="cuda")
    kept.record_stream(torch.cuda.current_stream())
    return kept


def scratch(length):
    place = contextlib.nullcontext()
    if EDIT == "move_stream":
        place = torch.cuda.stream(side)
    elif EDIT == "move_pool":
        place = torch.cuda.use_mem_pool(pool)
    with place:
        return torch.empty(length * (150 if EDIT == "scale" else 300), device="cuda")


def noise(length):
    for width in (3, 5, 7):
        torch.empty(length, width * 64, device="cuda")


def train(lengths):
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    log = []
    for step, length in enumerate(lengths):
        for _ in range(3 if EDIT == "repeat_step" and step == 3 else 1):
            if EDIT == "drop_step" and step == 3:
                continue
            inputs = batch(length)
            if EDIT != "drop_record_stream":
                inputs.record_stream(torch.cuda.current_stream())
            buffer = scratch(length)
            weights = mask(length)
            output = model(inputs)
            if EDIT == "free_earlier":
                del buffer
            if EDIT == "free_waiting_earlier":
                del weights
            noise(length)
            if EDIT != "free_earlier":
                del buffer
            if EDIT != "free_waiting_earlier":
                del weights
            loss = output.square().mean()
            loss.backward()
            log.append(loss.detach() + 1)
            del inputs, output, loss
            optimizer.step()
            optimizer.zero_grad()
            if EDIT == "empty_cache" or EDIT == "empty_cache_every" and step % 3 == 2:
                torch.cuda.empty_cache()


if EDIT == "preallocate":
    torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
train(LENGTHS[:4] if EDIT == "second" else LENGTHS)
if EDIT == "then":
    train(LENGTHS[:4])
