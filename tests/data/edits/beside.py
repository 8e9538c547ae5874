"""Two training processes on one device: beside.py ROLE FOLDER, with ROLE 0 and 1 at the same time.

They take turns by files in FOLDER, a half step each, and go on after a request that fails. Recorded with
FAKE_CUDA_SHARED, which counts both against one capacity, they are the truth that `replay --edit beside:` is compared
with (tests/tools/edits/edits_truth_test.cpp, traces/recorded/edits).
"""
import pathlib
import sys
import time

import torch

ROLE, FOLDER = int(sys.argv[1]), pathlib.Path(sys.argv[2])
LENGTHS = ([3000, 9000, 5000, 12000, 7000, 3000, 10000, 4000], [8000, 2000, 11000, 6000, 13000, 2500, 9500, 7000])[ROLE]
turn = 0


def wait_for(name):
    while not (FOLDER / name).exists():
        time.sleep(0.001)


def hand_over():
    """The other process goes on; this one waits for its next turn."""
    global turn
    (FOLDER / f"done-{ROLE}-{turn}").touch()
    turn += 1
    wait_for(f"done-{1 - ROLE}-{turn - 1 if ROLE == 0 else turn}")


def step(model, optimizer, length):
    inputs = torch.empty(length, 256, device="cuda")
    scratch = torch.empty(length * 400, device="cuda")
    loss = model(inputs).square().mean()
    hand_over()
    del scratch
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


if ROLE == 1:
    wait_for("done-0-0")
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
failures = 0
for length in LENGTHS:
    before = turn
    try:
        step(model, optimizer, length)
    except torch.OutOfMemoryError:
        failures += 1
        optimizer.zero_grad()
    if turn == before:
        hand_over()
    hand_over()
print(f"{failures} steps out of memory, {torch.cuda.memory_stats()['num_alloc_retries']} retries")
# Memory is given back by a process that ends: neither does before the other is through.
(FOLDER / f"done-{ROLE}-{turn}").touch()
(FOLDER / f"end-{ROLE}").touch()
wait_for(f"end-{1 - ROLE}")
