"""Runs drawn cases: recorded once each, simulated every time. A case whose result exists is not recorded again."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

from ..case_run import write_atomically
from .loops import LOOPS

STEPS = 3  # what `simulate` takes unless told; DDP's second has new buckets
FIGURES = ("allocated", "reserved")
LONGEST = 300  # seconds for one recording


def typed_line(case):
    """What one types first."""
    return ["simulate", "--model", "config.json", "--batch", str(case["batch"]), "--seq", str(case["seq"]),
            "--gpu", case["gpu"], *LOOPS[case["loop"]].typed(case)]


def record_line(case):
    return ["record", "--gpu", case["gpu"], "--steps", str(STEPS), "--output", "run.pickle", "--",
            *LOOPS[case["loop"]].command(case)]


def write_case(case, folder):
    """Everything that repeats the case by hand: its files, and lines.txt with both commands."""
    folder.mkdir(parents=True, exist_ok=True)
    loop = LOOPS[case["loop"]]
    lines = "".join(shlex.join(["highwater", *line]) + "\n" for line in (record_line(case), typed_line(case)))
    files = {"config.json": json.dumps(case["config"], indent=1) + "\n", "train.py": loop.script(case),
             "lines.txt": lines, **loop.files(case)}
    for name, text in files.items():
        (folder / name).write_text(text)


def peaks_of(peak):
    return {figure: peak[f"{figure}_bytes"] for figure in FIGURES}


def last_words(done):
    return done.stderr.strip().split("\n")[-1] if done.stderr.strip() else f"exit status {done.returncode}"


class Runner:
    """The programs: highwater, and the Python whose PyTorch is recorded."""

    def __init__(self, highwater, python, from_recording=False):
        """from_recording: what is simulated is the plan that the recording carries, not what one types."""
        self.from_recording = from_recording
        self.highwater = str(Path(highwater).resolve())
        found = Path(python).absolute().parent  # a virtual environment's python is a link
        self.environment = {**os.environ, "PATH": f"{found}{os.pathsep}{os.environ['PATH']}", "HF_HUB_OFFLINE": "1",
                            "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": "0"}

    def run(self, words, folder, **more):
        return subprocess.run([self.highwater, *words], cwd=folder, env=self.environment, capture_output=True,
                              text=True, **more)

    def record(self, case, folder):
        """The result of a recording: peaks, or why there are none."""
        began = time.monotonic()
        words = record_line(case)
        try:
            done = self.run([words[0], "--format", "json", *words[1:]], folder, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return {"case": case, "error": f"not recorded within {LONGEST} s"}
        seconds = round(time.monotonic() - began, 1)
        (folder / "record.log").write_text(done.stderr)
        if done.returncode != 0:
            return {"case": case, "error": f"record: {last_words(done)}", "seconds": seconds}
        device = max(json.loads(done.stdout)["devices"], key=lambda each: each["peak"]["reserved_bytes"])
        return {"case": case, "recorded": peaks_of(device["peak"]), "seconds": seconds}

    def simulate(self, case, folder):
        """Peaks of rank 0, which is recorded; or the refusal."""
        line = ["simulate", "--from", "run.pickle"] if self.from_recording else [*typed_line(case), "--rank", "0"]
        done = self.run([*line, "--format", "json"], folder)
        if done.returncode != 0:
            return {"refused": last_words(done)}
        return {"simulated": peaks_of(json.loads(done.stdout)["peak"])}


def recorded_result(case, folder, runner):
    """The kept result of the case, or a new one."""
    path = folder / "result.json"
    if path.exists():
        kept = json.loads(path.read_text())
        if kept["case"] == case and "error" not in kept:
            return kept
    write_case(case, folder)
    result = runner.record(case, folder)
    write_atomically(path, lambda partial: partial.write_text(json.dumps(result) + "\n"))
    return result


def result_of(case, out, runner):
    folder = Path(out) / case["id"]
    result = recorded_result(case, folder, runner)
    write_case(case, folder)
    return result if "error" in result else {**result, **runner.simulate(case, folder)}
