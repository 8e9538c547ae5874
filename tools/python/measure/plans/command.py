"""`measure plans`: runs each plan by the engines, prints the table of peaks and verdicts."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .rows import BATCH, CONFIGS, ROWS

BY_HAND = Path(__file__).resolve().parent / "by_hand"
FIGURES = ("requested", "allocated", "active", "reserved")
LONGEST = 900  # seconds for one run


class RunError(Exception):
    """A plan that was not carried out; the message says why."""


@dataclasses.dataclass
class Result:
    other: dict      # peaks of the model, or of the script written by hand
    torch: dict      # peaks of --engine torch
    verdict: str


def add_options(parser):
    parser.add_argument("--only", metavar="WORD", default="", help="only plans whose name contains it")
    parser.add_argument("--highwater", default="highwater", metavar="FILE", help="the program (default: on the PATH)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="the Python whose PyTorch runs the plans (default: this one)")


class Runner:
    def __init__(self, highwater, python, folder):
        self._highwater = str(Path(shutil.which(highwater) or highwater).resolve())
        self._python = python
        self.folder = Path(folder)

    def report(self, *words):
        """The JSON of a command. @raises RunError"""
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        try:
            done = subprocess.run([self._highwater, *words], cwd=self.folder, capture_output=True, text=True,
                                  env=environment, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            raise RunError(f"took longer than {LONGEST} s") from None
        if done.returncode != 0:
            raise RunError(done.stderr.strip().split("\n")[-1])
        return json.loads(done.stdout)

    def simulate(self, row, engine):
        (self.folder / "config.json").write_text(json.dumps(CONFIGS[row.model]))
        return self.report("simulate", "--model", "config.json", *BATCH, *row.line.split(), "--engine", engine, "--python",
                           self._python, "--format", "json")

    def record(self, row):
        """The peaks of the script written by hand."""
        shutil.copy(BY_HAND / row.script, self.folder / "by_hand.py")
        start = ["-m", "torch.distributed.run", "--nproc-per-node", str(row.ranks)] if row.ranks > 1 else []
        devices = self.report("record", "--gpu", "h100-80", "--steps", "3", "--output", "by_hand.pickle", "--format", "json",
                              "--", self._python, *start, "by_hand.py")["devices"]
        return peaks_of(max((device["peak"] for device in devices), key=lambda peak: peak["reserved_bytes"]))


def peaks_of(peak):
    return {figure: peak[f"{figure}_bytes"] for figure in FIGURES}


def compared_engines(row, runner):
    report = runner.simulate(row, "both")
    model = peaks_of(runner.simulate(row, "model")["peak"])
    different = [phase for phase in report["engines"]["phases"] if not phase["equal"]]
    torch = peaks_of(report["peak"])
    return Result(model, torch, verdict_of(different, report["engines"]["phases"], model == torch))


def verdict_of(different, phases, has_equal_peaks):
    """Frees that come in another order within a phase are equal requests, but may have other peaks."""
    if not different:
        return "all requests equal" if has_equal_peaks else "requests equal, some freed in another order"
    first = different[0]
    where = "init" if first["step"] is None else f"step {first['step']} {first['phase']}"
    return f"{len(different)} of {len(phases)} phases differ, the first in {where}"


def compared_scripts(row, runner):
    torch, by_hand = peaks_of(runner.simulate(row, "torch")["peak"]), runner.record(row)
    different = [figure for figure in FIGURES if torch[figure] != by_hand[figure]]
    return Result(by_hand, torch, f"differ: {', '.join(different)}" if different else "all peaks equal")


def cells(row, result):
    def mebibytes(peaks):
        return f"{peaks['allocated'] / 2**20:.2f} | {peaks['reserved'] / 2**20:.0f}"

    kind = "the model" if not row.script else f"[by hand](../python/measure/plans/by_hand/{row.script})"
    return f"{row.name} | `{row.model}` `{row.line}` | {kind} | {mebibytes(result.other)} | {mebibytes(result.torch)} | " \
           f"{result.verdict}"


def run(options):
    print("| plan | options | beside | allocated (MiB) | reserved | torch: allocated | reserved | verdict |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.highwater, options.python, folder)
        for row in (row for row in ROWS if options.only in row.name):
            try:
                result = (compared_scripts if row.script else compared_engines)(row, runner)
                line = cells(row, result)
                failed += not result.verdict.startswith("all ")
            except RunError as problem:
                line, failed = f"{row.name} | `{row.model}` `{row.line}` | not run: {problem}", failed + 1
            print(f"| {line} |", flush=True)
    return 1 if failed else 0
