"""Training runs that others measured on real GPUs, beside what `highwater simulate` says of the same plan.

Usage: measured_runs.py [--highwater BINARY] [--only TEXT] [--max-error PERCENT]

Each row of measured_runs.tsv is one rank of a run whose peaks PyTorch printed (max_memory_allocated, max_memory_reserved, MiB),
with the options that describe it and the source of the figures. Nothing here was measured by this project, and no
number was fitted to a row. With --max-error the exit code is 1 where an error in allocated memory is larger.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

LIST = pathlib.Path(__file__).with_name("measured_runs.tsv")
MIB = 2**20
KINDS = ("allocated", "reserved")


def model_word(description: str) -> str:
    """ "llama:hidden_size=8192,..." as the text of a config.json."""
    family, _, sizes = description.partition(":")
    config: dict[str, object] = {"model_type": family, "tie_word_embeddings": False}
    for each in sizes.split(","):
        key, value = each.split("=")
        config[key] = int(value) if value.isdigit() else value
    return json.dumps(config)


def simulated(binary: str, row: dict[str, str]) -> dict[str, float]:
    """Peaks in MiB."""
    command = [binary, "simulate", "--model", model_word(row["model"]), *shlex.split(row["options"]), "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{row['name']}: {run.stderr}")
    peak = json.loads(run.stdout)["peak"]
    return {kind: peak[f"{kind}_bytes"] / MIB for kind in KINDS}


def compared(binary: str, row: dict[str, str]) -> dict[str, float]:
    """Errors in percent."""
    found = simulated(binary, row)
    errors = {kind: 100 * (found[kind] / float(row[kind]) - 1) for kind in KINDS}
    print_row([row["name"], row["allocated"], f"{found['allocated']:.2f}", f"{errors['allocated']:+.4f} %", row["reserved"],
               f"{found['reserved']:.0f}", f"{errors['reserved']:+.2f} %"])
    return errors


def print_row(cells: list[str]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def summary(errors: list[dict[str, float]]) -> str:
    parts = []
    for kind in KINDS:
        sizes = sorted(abs(each[kind]) for each in errors)
        parts.append(f"{kind}: median {statistics.median(sizes):.4f} %, worst {sizes[-1]:.4f} %")
    return f"{len(errors)} rows; " + "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--highwater", default="build/release/highwater")
    parser.add_argument("--only", default="", help="rows whose name or source contains this")
    parser.add_argument("--max-error", type=float, default=None, metavar="PERCENT")
    options = parser.parse_args()
    with LIST.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if options.only in row["name"] or options.only in row["source"]]
    if not rows:
        sys.exit(f"no row contains {options.only!r}")
    print_row(["run", "allocated MiB", "simulated", "error", "reserved MiB", "simulated", "error"])
    print_row(["---"] + ["---:"] * 6)
    errors = [compared(options.highwater, row) for row in rows]
    print("\n" + summary(errors))
    limit = options.max_error
    return int(limit is not None and any(abs(each["allocated"]) > limit for each in errors))


if __name__ == "__main__":
    sys.exit(main())
