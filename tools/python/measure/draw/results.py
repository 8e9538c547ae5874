"""Runs drawn cases: recorded once each, simulated every time. A case whose result exists is not recorded again."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

from ..case_run import write_atomically
from .loops import LOOPS, Plans
from .old_releases import Releases
from .programs import Module, Program, TooLongError

STEPS = 3  # what `simulate` takes unless told; DDP's second has new buckets
FIGURES = ("allocated", "reserved")
LONGEST = 300  # seconds for one recording
# Whether the Python has NVIDIA's cuDNN, which `record` asks for workspaces.
HAS_CUDNN = "import glob, sys; sys.exit(not any(glob.glob(f'{entry}/nvidia/cudnn/lib/libcudnn.so.9') for entry in sys.path))"
REFUSALS = (2, 3)  # exit codes: the plan says what cannot be


def typed_line(case):
    """What one types first."""
    return ["simulate", "--model", "config.json", "--batch", str(case["batch"]), "--seq", str(case["seq"]),
            "--gpu", case["gpu"], *(case["words"] if "words" in case else LOOPS[case["loop"]].typed(case)),
            *case.get("releases", [])]


def rank_line(case, engine):
    """Rank 0, which is recorded."""
    return [*typed_line(case), "--rank", "0", "--engine", engine]


def record_line(case):
    """A script under `record`; a plan by PyTorch itself."""
    if "words" in case:
        return rank_line(case, "torch")
    return ["record", "--gpu", case["gpu"], "--steps", str(STEPS), "--output", "run.pickle", "--",
            *LOOPS[case["loop"]].command(case)]


def write_case(case, folder):
    """Everything that repeats the case by hand: its files, and lines.txt with both commands."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(shlex.join(["highwater", *line]) + "\n" for line in (record_line(case), typed_line(case)))
    files = {"config.json": json.dumps(case["config"], indent=1) + "\n", "lines.txt": lines, **files_of(case)}
    for name, text in files.items():
        (folder / name).write_text(text)


def files_of(case):
    """What the case's script needs, and itself; plans have none."""
    loop = LOOPS[case["loop"]]
    if isinstance(loop, Plans):
        return {}
    return {"train.py": releases_of(case).script(loop.script(case)), **loop.files(case)}


def releases_of(case):
    words = case.get("releases", [])
    named = dict(zip(words[::2], words[1::2]))
    return Releases(named.get("--torch"), named.get("--transformers"))


def peaks_of(peak):
    return {figure: peak[f"{figure}_bytes"] for figure in FIGURES}


def recorded_peak(report):
    """Of the device that is used most, where a script has several."""
    if "devices" not in report:
        return report["peak"]
    return max(report["devices"], key=lambda each: each["peak"]["reserved_bytes"])["peak"]


def last_words(done):
    return done.messages.strip().split("\n")[-1] if done.messages.strip() else f"exit status {done.code}"


class Runner:
    """The programs: highwater, and the Python whose PyTorch is recorded."""

    def __init__(self, highwater, python, from_recording=False, module=None):
        """from_recording: what is simulated is the plan that the recording carries, not what one types.
        module: the folder of highwater's package, which answers the lines of `simulate` without a process for each."""
        self.from_recording = from_recording
        found = Path(python).absolute().parent  # a virtual environment's python is a link
        environment = {**os.environ, "PATH": f"{found}{os.pathsep}{os.environ['PATH']}", "HF_HUB_OFFLINE": "1",
                       "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": "0"}
        self.program = Program(str(Path(highwater).resolve()), environment)
        self.simulator = Module(str(Path(module).resolve()), environment) if module else self.program
        has_cudnn = subprocess.run([python, "-c", HAS_CUDNN], env=environment).returncode == 0
        self.workspaces = [] if has_cudnn else ["--cudnn-workspaces", "none"]

    def run(self, words, folder, seconds=None):
        """@raises TooLongError"""
        answers = self.simulator if words[0] == "simulate" else self.program
        return answers.answer(words, folder, seconds)

    def record(self, case, folder):
        """The result of a recording: peaks, or why there are none."""
        began = time.monotonic()
        words = record_line(case)
        try:
            done = self.run([words[0], "--format", "json", *words[1:]], folder, LONGEST)
        except TooLongError:
            return {"case": case, "error": f"not recorded within {LONGEST} s"}
        seconds = round(time.monotonic() - began, 1)
        (folder / "record.log").write_text(done.messages)
        if done.code in REFUSALS and "words" in case:
            return {"case": case, "refused": f"torch: {last_words(done)}", "seconds": seconds}
        if done.code != 0:
            return {"case": case, "error": f"record: {last_words(done)}", "seconds": seconds}
        return {"case": case, "recorded": peaks_of(recorded_peak(json.loads(done.text))), "seconds": seconds}

    def simulate(self, case, folder):
        """Peaks of rank 0, which is recorded; or the refusal."""
        line = ["simulate", "--from", "run.pickle"] if self.from_recording else [*rank_line(case, "model"), *self.workspaces]
        done = self.run([*line, "--format", "json"], folder)
        if done.code != 0:
            return {"refused": last_words(done)}
        return {"simulated": peaks_of(json.loads(done.text)["peak"])}


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
    return result if "recorded" not in result else {**result, **runner.simulate(case, folder)}
