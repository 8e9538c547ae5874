"""Runs of drawn architectures: --engine auto, and a plain recording of the script that it ran."""
import json
import subprocess
import time
from pathlib import Path

from ..case_run import write_atomically
from ..draw.results import last_words

ENGINE = Path(__file__).resolve().parents[2] / "engine"
FIGURES = ("requested", "allocated", "active", "reserved")
LONGEST = 600  # seconds for one run
GPU = "h200"  # holds a billion-parameter model with its states in fp32
BATCH = "2"  # norms over a batch refuse a single example
STEPS = "2"  # the second is the steady state of a loop on one GPU


def draw(runner, python, seed, count, path, kinds=()):
    """The list of a seed, drawn if it is not there. The drawing loads torch, which needs the libraries of `record`."""
    if not path.exists():
        words = ["record", "--gpu", GPU, "--output", str(path.with_suffix(".pickle")), "--", python,
                 str(Path(__file__).with_name("drawing.py")), seed, str(count), str(path), *kinds]
        runner.environment["PYTHONPATH"] = str(ENGINE)
        subprocess.run([runner.highwater, *words], env=runner.environment, stdout=subprocess.DEVNULL)
        del runner.environment["PYTHONPATH"]
    return json.loads(path.read_text())


def name_of(case):
    return case["config"]["model_type"]


def simulate_line(python, engine="auto", options=()):
    return ["simulate", "--model", "config.json", "--gpu", GPU, "--batch", BATCH, "--steps", STEPS, "--engine", engine, "--python", python,
            *options]


def timed(runner, words, folder):
    """(process or None where it took too long, seconds)"""
    began = time.monotonic()
    try:
        done = runner.run(words, folder, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        done = None
    return done, round(time.monotonic() - began, 1)


def peaks_of(peak):
    return {figure: peak[f"{figure}_bytes"] for figure in FIGURES}


def answered(case, folder, runner, python):
    words = simulate_line(python)
    runner.environment["HIGHWATER_SCRIPT_FOLDER"] = str((folder / "script").absolute())
    done, seconds = timed(runner, [*words, "--format", "json"], folder)
    if done is None or done.returncode != 0:
        return {"refused": last_words(done) if done else f"not answered within {LONGEST} s", "seconds": seconds}
    report = json.loads(done.stdout)
    return {"answered": peaks_of(report["peak"]), "engine": report["plan"]["engine"], "seconds": seconds}


def recorded(folder, runner, python):
    words = ["record", "--gpu", GPU, "--output", "run.pickle", "--format", "json", "--", python, "train.py"]
    done, seconds = timed(runner, words, folder / "script")
    (folder / "script" / "run.pickle").unlink(missing_ok=True)
    if done is None or done.returncode != 0:
        return {"unrecorded": last_words(done) if done else f"not recorded within {LONGEST} s"}
    device = max(json.loads(done.stdout)["devices"], key=lambda each: each["peak"]["reserved_bytes"])
    return {"recorded": peaks_of(device["peak"]), "record_seconds": seconds}


def answered_by(engine, folder, runner, python, options):
    """({peaks} or None, what it said)"""
    done, _ = timed(runner, [*simulate_line(python, engine, options), "--format", "json"], folder)
    if done is None or done.returncode != 0:
        return None, last_words(done) if done else f"not answered within {LONGEST} s"
    return peaks_of(json.loads(done.stdout)["peak"]), ""


def by_both_engines(case, out, runner, python, options):
    """The model's peaks beside PyTorch's, and whether all requests are equal; "gap": why the model does not answer."""
    folder = Path(out) / name_of(case)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(case["config"], indent=1) + "\n")
    result = {"case": case, "options": list(options)}
    began = time.monotonic()
    result["model"], gap = answered_by("model", folder, runner, python, options)
    result["torch"], refusal = answered_by("torch", folder, runner, python, options)
    if result["torch"] is None:
        result["refused"] = refusal
    elif result["model"] is None:
        result["gap"] = gap
    else:
        done, _ = timed(runner, simulate_line(python, "both", options), folder)
        lines = done.stdout.splitlines() if done else []
        result["requests"] = next((line for line in lines if line.startswith("equal: all")), "requests differ")
    result["seconds"] = round(time.monotonic() - began, 1)
    _keep(result, folder)
    return result


def kept_result(case, out):
    """What an earlier call found; None where nothing was answered."""
    path = Path(out) / name_of(case) / "result.json"
    kept = json.loads(path.read_text()) if path.exists() else {"refused": ""}
    return None if "refused" in kept or kept["case"] != case else kept


def answer_of(case, out, runner, python):
    """The kept result, or a new one."""
    folder = Path(out) / name_of(case)
    result = kept_result(case, out)
    if result is None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(case["config"], indent=1) + "\n")
        result = {"case": case, **answered(case, folder, runner, python)}
        _keep(result, folder)
    return result


def with_recording(result, out, runner, python):
    """The result beside a recording of the script that was run, where PyTorch made it."""
    if result.get("engine") != "torch" or "recorded" in result:
        return result
    folder = Path(out) / name_of(result["case"])
    result = {**result, **recorded(folder, runner, python)}
    _keep(result, folder)
    return result


def _keep(result, folder):
    write_atomically(folder / "result.json", lambda partial: partial.write_text(json.dumps(result) + "\n"))
