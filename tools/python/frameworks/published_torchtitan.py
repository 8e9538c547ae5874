#!/usr/bin/env python3
"""torchtitan's published memory figures beside the same runs recorded without a GPU.

  published_torchtitan.py --source TORCHTITAN --python PYTHON --highwater PROGRAM [--out DIR] [--only T1,T4]

The figures are torchtitan's benchmarks/llama3_h100_202412_torchtitan.md, on H100s with 96 GB. TORCHTITAN is a checkout
of the commit named there, 9dec370 of December 2024; its version is 0.0.2, but the wheel of that version on PyPI is of
April 2024 and holds no module. PYTHON has PyTorch 2.6 (NVIDIA's libraries are not needed). What else torchtitan imports,
torchao of its age among it, is installed in DIR; so are a tokenizer and a text, made here. Runs that have a result in
DIR are not repeated.
"""

import argparse
import base64
import dataclasses
import json
import os
import random
import subprocess
import sys
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

BESIDE_TORCH = ("torchao==0.7.0", "torchdata==0.11.0")  # require PyTorch, which is there: installed by themselves
PACKAGES = ("datasets", "tiktoken", "blobfile", "tomli", "tensorboard")
CAPACITY = "95GiB"  # of those H100s
TOKENS = 128000     # of Llama 3's tokenizer, without its 256 special ones

FLOAT8 = ("--float8.enable_float8_linear", "--float8.enable_fsdp_float8_all_gather",
          "--float8.precompute_float8_dynamic_scale_for_fsdp")
COMPILE = ("--training.compile",)
TWO = ("--training.batch_size", "2")


@dataclasses.dataclass(frozen=True)
class Published:
    what: str
    gib: float  # most reserved, as torchtitan prints it
    config: str
    world: int
    options: tuple


RUNS = {
    "T1": Published("8B, FSDP 8", 82.4, "llama3_8b", 8, TWO),
    "T2": Published("8B, FSDP 8, compiled", 77.0, "llama3_8b", 8, TWO + COMPILE),
    "T3": Published("8B, FSDP 8, compiled, float8", 76.8, "llama3_8b", 8, TWO + COMPILE + FLOAT8),
    "T4": Published("8B, FSDP 128", 67.0, "llama3_8b", 128, TWO),
    "T5": Published("8B, FSDP 128, compiled", 62.0, "llama3_8b", 128, TWO + COMPILE),
    "T6": Published("8B, FSDP 128, compiled, float8", 61.8, "llama3_8b", 128, TWO + COMPILE + FLOAT8),
    "T11": Published("70B, FSDP 32 x TP 8, full checkpointing, compiled, float8", 71.9, "llama3_70b", 256,
                     ("--training.batch_size", "16") + COMPILE + FLOAT8),
}


class RunError(Exception):
    """A run that cannot be made; the message says why."""


def install(python, folder):
    """What torchtitan imports beside PyTorch."""
    if (folder / "complete").exists():
        return
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(folder)]
    for arguments in (["--no-deps", *BESIDE_TORCH], PACKAGES):
        if subprocess.run([*pip, *arguments], check=False).returncode != 0:
            raise RunError(f"pip could not install {' '.join(arguments)}; see above")
    (folder / "complete").touch()


def make_tokenizer(path):
    """Ranks in tiktoken's form: all bytes, then words drawn with a fixed seed."""
    draw = random.Random(0)
    words = {bytes([byte]): None for byte in range(256)}
    while len(words) < TOKENS:
        words[bytes(draw.randrange(97, 123) for _ in range(draw.randint(3, 7)))] = None
    lines = (base64.b64encode(word) + b" " + str(rank).encode() for rank, word in enumerate(words))
    path.write_bytes(b"\n".join(lines) + b"\n")


def make_text(path):
    """Lines in c4's form, longer than one sequence together."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(3000)]
    path.write_text("".join(json.dumps({"text": " ".join(draw.choices(words, k=700))}) + "\n" for _ in range(2000)))


def make_config(source, path):
    """The published configuration without what writes files of its own."""
    text = source.read_text()
    for key in ("enable_profiling", "enable_tensorboard"):
        text = text.replace(f"{key} = true", f"{key} = false")
    path.write_text(text)


def prepare(arguments, out):
    out.mkdir(parents=True, exist_ok=True)
    install(arguments.python, out / "packages")
    (out / "text").mkdir(exist_ok=True)
    if not (out / "tokenizer.model").exists():
        make_tokenizer(out / "tokenizer.model")
        make_text(out / "text" / "data.json")
    for config in {run.config for run in RUNS.values()}:
        make_config(arguments.source / "train_configs" / f"{config}.toml", out / f"{config}.toml")


def command(arguments, out, name, run):
    titan = [str(arguments.source / "train.py"), "--job.config_file", str(out / f"{run.config}.toml"),
             "--model.tokenizer_path", str(out / "tokenizer.model"), "--training.dataset", "c4_test",
             "--training.dataset_path", str(out / "text"), *run.options]
    return [arguments.highwater, "record", "--gpu", "h100-80", "--capacity", CAPACITY, "--world", str(run.world),
            "--steps", "3", "--stacks", "none", "--output", str(out / f"{name}.pickle"), "--format", "json", "--",
            arguments.python, "-m", "torch.distributed.run", "--nproc_per_node", "8", *titan]


def record(arguments, out, name, run):
    """The report of `highwater record`. @raises RunError"""
    report, log = out / f"{name}.json", out / f"{name}.log"
    if not report.exists():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(arguments.source), str(out / "packages")]),
                       "HF_HUB_OFFLINE": "1", "HF_HOME": str(out / "hf"), "TOKENIZERS_PARALLELISM": "false",
                       "TORCHINDUCTOR_CACHE_DIR": str(out / "inductor"), "TRITON_CACHE_DIR": str(out / "triton")}
        environment.pop("PYTORCH_CUDA_ALLOC_CONF", None)
        with open(log, "w") as errors:
            done = subprocess.run(command(arguments, out, name, run), env=environment, stdout=subprocess.PIPE,
                                  stderr=errors, text=True, cwd=out, check=False)
        if done.returncode != 0:
            raise RunError(f"exit status {done.returncode}; see {log}")
        report.write_text(done.stdout)
    return json.loads(report.read_text())


def row(name, run, report):
    peak = max(device["peak"]["reserved_bytes"] for device in report["devices"]) / 2**30
    return f"| {name} | {run.what} | {run.gib} | {peak:.2f} | {100 * (peak / run.gib - 1):+.1f} % |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, type=Path, help="a checkout of torchtitan at commit 9dec370")
    parser.add_argument("--python", required=True, help="a Python with PyTorch 2.6")
    parser.add_argument("--highwater", required=True, help="the program")
    parser.add_argument("--out", default="torchtitan", type=Path, help="folder of the results (default: %(default)s)")
    parser.add_argument("--only", help="T1,... instead of all")
    arguments = parser.parse_args()
    arguments.source, out = arguments.source.resolve(), arguments.out.resolve()
    arguments.highwater, arguments.python = map(os.path.abspath, (arguments.highwater, arguments.python))
    failed = 0
    try:
        if not (arguments.source / "train.py").exists():
            raise RunError(f"{arguments.source} has no train.py; name a checkout of torchtitan at commit 9dec370")
        prepare(arguments, out)
    except (RunError, OSError) as error:
        print(f"published_torchtitan: {error}", file=sys.stderr)
        return 3
    print("| run | what | published, GiB | recorded, GiB | error |\n|---|---|---:|---:|---:|", flush=True)
    for name, run in RUNS.items():
        if arguments.only and name not in arguments.only.split(","):
            continue
        try:
            print(row(name, run, record(arguments, out, name, run)), flush=True)
        except RunError as error:
            failed += 1
            print(f"| {name} | {run.what} | {run.gib} | not recorded: {error} | |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
