"""Convolutions whose memory was published, measured on real GPUs, beside what `highwater record` finds.

Usage: published_workspaces.py [--highwater BINARY] [--python PYTHON] [--only SOURCE] [--markdown]

Each row of published_workspaces.tsv is one layer that somebody reported with a figure that PyTorch printed: the most
allocated, the most reserved, or the request that failed. PYTHON has PyTorch with NVIDIA's cuDNN 9.8 or later beside it. The
layer runs under `record`, and the recording is replayed once more without the blocks of cuDNN's workspaces: what would be
counted without them. Rows say for which PyTorch they are, and those of another one are left out: where PyTorch itself computed
(a layer that it did not give to cuDNN then) that of the report's time, otherwise the newest, since the cuDNN of most reports is
older than 9.8 and cannot be asked. The card is the reported one where the report names it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

LIST = pathlib.Path(__file__).with_name("published_workspaces.tsv")
LAYER = """
import re, torch
from torch.nn import Conv2d, Conv3d, ConvTranspose2d
flags = {flags!r}.split()
torch.backends.cudnn.deterministic = "deterministic" in flags
kept = torch.float32 if "autocast" in flags else torch.{type}
layer = {layer}.to("cuda", kept)
image = torch.zeros({input}, dtype=torch.{type}, device="cuda")
with torch.set_grad_enabled("no_grad" not in flags), torch.autocast("cuda", enabled="autocast" in flags):
    try:
        layer(image)
    except torch.OutOfMemoryError as error:
        print("tried", re.search(r"Tried to allocate (\\S+ \\S+)\\.", str(error)).group(1))
"""
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GB": 10**9}
WORKSPACES = "scale:site=cuDNN workspace,by=0"


def in_bytes(figure: str) -> float:
    value, unit = figure.split()
    return float(value) * UNITS[unit]


def replayed(binary: str, recording: pathlib.Path, *options: str) -> dict | None:
    """The peak in bytes by kind; None where the recording has no such blocks."""
    run = subprocess.run([binary, "replay", str(recording), *options, "--format", "json"], capture_output=True, text=True, check=False)
    if run.returncode == 2:
        return None
    if run.returncode not in (0, 1):
        sys.exit(run.stderr)
    peak = json.loads(run.stdout)["devices"][0]["peak"]
    return {"allocated": peak["allocated_bytes"], "reserved": peak["reserved_bytes"]}


def recorded(options: argparse.Namespace, case: dict) -> tuple[float | None, float | None]:
    """What the row's figure is in a recording, and without cuDNN's workspaces."""
    kind = case["figure"].partition(",")[0]
    with tempfile.TemporaryDirectory() as name:
        script, recording = pathlib.Path(name, "layer.py"), pathlib.Path(name, "r.pickle")
        script.write_text(LAYER.format(flags=case["flags"], type=case["type"], layer=case["layer"],
                                       input=tuple(int(size) for size in case["input"].split("x"))), encoding="utf-8")
        run = subprocess.run([options.highwater, "record", "--gpu", case["gpu"], "--output", str(recording), "--", options.python,
                              str(script)], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(run.stderr)
        tried = re.search(r"^tried (.*)$", run.stdout, re.MULTILINE)
        if kind == "tried":
            return (in_bytes(tried.group(1)) if tried else None), None
        if tried:
            return None, None
        own = replayed(options.highwater, recording)
        if own is None:
            sys.exit(f"the recording of {case['layer']} cannot be replayed")
        without = replayed(options.highwater, recording, "--edit", WORKSPACES) or own
        return own[kind], without[kind]


def release_of(python: str) -> str:
    """PyTorch's, "2.15"."""
    run = subprocess.run([python, "-c", "import importlib.metadata as m; print(m.version('torch'))"], capture_output=True, text=True, check=True)
    return ".".join(run.stdout.split(".")[:2])


def shown(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value / UNITS[unit]:.3f}" if unit == "GB" else f"{value / UNITS[unit]:.2f}"


def row_of(options: argparse.Namespace, case: dict) -> list[str]:
    unit = case["figure"].partition(", ")[2]
    with_workspaces, without = recorded(options, case)
    error = "" if with_workspaces is None else f"{with_workspaces / UNITS[unit] / float(case['published']) - 1:+.2%}"
    return [case["source"], f"{case['layer']}, {case['input']}, {' '.join([case['type'], *case['flags'].split()])}", case["figure"],
            case["published"], shown(with_workspaces, unit), error, shown(without, unit)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--highwater", default="build/release/highwater")
    parser.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON", sys.executable))
    parser.add_argument("--only", default="", help="sources that contain this")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    titles = ["source", "layer, input", "figure", "published", "record", "error", "without workspaces"]
    between, edge = (" | ", "| ") if options.markdown else ("  ", "")
    print(edge + between.join(titles) + (" |" if edge else ""))
    if options.markdown:
        print("|" + " --- |" * len(titles))
    release = release_of(options.python)
    with LIST.open(encoding="utf-8", newline="") as file:
        for case in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if options.only in case["source"] and case["torch"] == release:
                print(edge + between.join(row_of(options, case)) + (" |" if edge else ""), flush=True)


if __name__ == "__main__":
    main()
