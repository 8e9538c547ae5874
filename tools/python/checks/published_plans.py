"""Where `highwater plan` puts layouts that were published.

Usage: published_plans.py [--highwater BINARY] [--rows N] [--only NAME] [--markdown]

Each row of published_plans.tsv is a run that a paper or a program's own table reports: the model, the
GPUs, the sequence and the batch, and the layout that its authors chose. The question put to `plan` is
the first four and nothing else; a row counts as found where one of the first N (5) rows has the
published sizes of every axis. Where an assumption of the authors differs from today's programs (no
distributed optimizer, attention that is not fused), the same question is put again with the options
that say so.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

LIST = pathlib.Path(__file__).with_name("published_plans.tsv")
SHARDED = {"fsdp1", "fsdp2", "zero3"}


def model_word(model: str, folder: pathlib.Path) -> str:
    """A model's name, or the file of a flat description ("gpt2:layers=24,hidden=2304,...")."""
    family, _, sizes = model.partition(":")
    if not sizes:
        return model
    description: dict[str, object] = {"name": "published", "family": family}
    description |= {key: int(value) for key, value in (each.split("=") for each in sizes.split(","))}
    path = folder / "model.json"
    path.write_text(json.dumps(description), encoding="utf-8")
    return str(path)


def has_layout(plan: dict, layout: str) -> bool:
    """Whether a row's plan divides the job as `layout` ("fsdp,tp=8,pp=1") says."""
    for word in layout.split(","):
        axis, _, size = word.partition("=")
        if axis == "fsdp":
            if plan["dp_kind"] not in SHARDED:
                return False
        elif int(plan.get(axis, 1)) != int(size):
            return False
    return "fsdp" in layout or plan["dp_kind"] not in SHARDED


def rank_of(binary: str, case: dict, options: str, rows: int) -> tuple[int | None, float]:
    """The first row with the published layout, and seconds of the search."""
    with tempfile.TemporaryDirectory() as name:
        command = [binary, "plan", "--model", model_word(case["model"], pathlib.Path(name))]
        for option in ("gpu", "gpus", "seq"):
            command += [f"--{option}", case[option]]
        command += ["--global-batch", case["global_batch"], "--precision", "bf16"]
        command += ["--rows", str(rows), "--format", "json"]
        command += shlex.split(case["question"]) + shlex.split(options)
        begin = time.monotonic()
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
    if run.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{run.stderr}")
    for i, row in enumerate(json.loads(run.stdout)["strategies"]["results"], 1):
        if row["fits"] and has_layout(row["plan"], case["layout"]):
            return i, seconds
    return None, seconds


def line_of(case: dict, first: int | None, second: int | None, seconds: float) -> list[str]:
    shown = [str(rank) if rank else "-" for rank in (first, second)]
    with_options = shown[1] if case["options"] and not first else ""
    return [case["name"], case["gpus"], case["layout"], shown[0], with_options,
            case["assumption"] if with_options else "", f"{seconds:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--highwater", default="build/release/highwater")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--only", default="", help="names that start like this")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    titles = ["run", "GPUs", "published layout", "row", "with its assumption", "the assumption", "s"]
    between, edge = (" | ", "| ") if arguments.markdown else ("  ", "")
    print(edge + between.join(titles) + (" |" if edge else ""))
    if arguments.markdown:
        print("|" + " --- |" * len(titles))
    found = asked = 0
    with LIST.open(encoding="utf-8", newline="") as file:
        for case in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if not case["name"].startswith(arguments.only):
                continue
            first, seconds = rank_of(arguments.highwater, case, "", arguments.rows)
            second = None
            if not first and case["options"]:
                second, _ = rank_of(arguments.highwater, case, case["options"], arguments.rows)
            asked += 1
            found += first is not None
            print(edge + between.join(line_of(case, first, second, seconds)) + (" |" if edge else ""),
                  flush=True)
    print(f"\n{found} of {asked} in the first {arguments.rows} rows")


if __name__ == "__main__":
    main()
