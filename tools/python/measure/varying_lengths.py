"""Peaks of many runs of a small LLaMA whose batches have lengths drawn at random, as tests/data/chance has them:

    python3 tools/python/measure/varying_lengths.py build/release/fakecuda --runs 200 > FILE

Each run is a process forked from one that has loaded torch. A line for each: the step that ran out of memory, or 0;
peak reserved and peak allocated bytes after each number of steps of STEPS; and, without a limit, the length of every
batch, that of its longest sample; with a limit they are the same. Lengths are drawn by Python's random module, with the
number of the run as its seed: nothing of Highwater's own draws is in them.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import simulated_device

BATCH = 4
STEPS = (30, 100, 300)
MEDIAN, SIGMA, LONGEST = 300, 0.6, 2048
CONFIG = {"vocab_size": 8000, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 2048}


def sample_length(chance):
    return max(1, min(LONGEST, round(MEDIAN * chance.lognormvariate(0, SIGMA))))


def batch_lengths(seed):
    chance = random.Random(seed)
    return [max(sample_length(chance) for _ in range(BATCH)) for _ in range(STEPS[-1])]


def train(lengths, found):
    """The loop of a script; adds the peaks after each number of steps of STEPS to `found`."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig
    model = AutoModelForCausalLM.from_config(LlamaConfig(**CONFIG)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for step, length in enumerate(lengths, 1):
        batch = {name: torch.zeros((BATCH, length), dtype=torch.int64) for name in ("input_ids", "labels")}
        batch = {name: tensor.to("cuda") for name, tensor in batch.items()}
        outputs = model(**batch)
        loss = outputs.loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found["steps"] = step
        if step in STEPS:
            stats = torch.cuda.memory_stats()
            found["peaks"] += [stats["reserved_bytes.all.peak"], stats["allocated_bytes.all.peak"]]


def run(seed, limit, out):
    import torch
    if limit:
        torch.cuda.set_per_process_memory_fraction(limit * 2**20 / torch.cuda.get_device_properties(0).total_memory)
    lengths, found, failed = batch_lengths(seed), {"steps": 0, "peaks": []}, 0
    try:
        train(lengths, found)
    except torch.OutOfMemoryError:
        failed = found["steps"] + 1
    peaks = found["peaks"] + [0] * (2 * len(STEPS) - len(found["peaks"]))
    known = [] if limit else lengths
    os.write(out, (" ".join(map(str, [failed, *peaks, *known])) + "\n").encode())


def record(arguments):
    import torch
    import transformers
    about = {"torch": torch.__version__, "transformers": transformers.__version__, "batch": BATCH, "steps": STEPS,
             "median": MEDIAN, "sigma": SIGMA, "max": LONGEST, "memory_limit_mib": arguments.memory_limit,
             "config": CONFIG}
    print("#", json.dumps(about), flush=True)
    for seed in range(arguments.first, arguments.first + arguments.runs):
        child = os.fork()
        if child == 0:
            run(seed, arguments.memory_limit, sys.stdout.fileno())
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f"run {seed} failed")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("libraries", type=pathlib.Path, help="the simulated device: folder with cuda12/ and cuda13/")
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--first", type=int, default=0, help="number of the first run")
    options.add_argument("--memory-limit", type=int, default=0, help="MiB that a run may take; 0: all of the device")
    arguments = options.parse_args()
    if os.environ.get("HIGHWATER_LENGTHS_DEVICE"):
        record(arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        simulated_device.write_start(pathlib.Path(folder), arguments.libraries)
        variables = simulated_device.environment(folder) | {"HIGHWATER_LENGTHS_DEVICE": "1"}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=variables, check=False).returncode)


if __name__ == "__main__":
    main()
