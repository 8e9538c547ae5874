"""Reduced programs in real PyTorch: each script shows on the fake GPU what the trace shows in the model.

reduced_script_test.py HIGHWATER

HIGHWATER_TORCH_PYTHON names the Python with PyTorch for CUDA; without one the test is skipped (exit status 4).
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

SKIPPED = 4
ROOT = pathlib.Path(__file__).resolve().parents[3]
#: A block of another stream that waits for it, a private pool, settings, changed settings, several streams.
TRACES = {
    "pending": "conf \na x 62914560 0\nf x\na y 46137344 0\na p 12582912 0\nr y 7\nf y\na z 46137344 0\n",
    "pool": "conf \npool_begin 5\na x 62914560 0\npool_end 5\nf x\na q 2097152 0\npool_begin 5\na p 2097152 0\n"
            "pool_end 5\na z 52428800 0\n",
    "expandable": "conf expandable_segments:True\na x 62914560 0\na y 62914560 0\n",
    "changed": "conf \nsetconf roundup_power2_divisions:2\na x 102760448 0\n",
}
RECORDED = ROOT / "traces/recorded/fake"
CASES = [(name, ["--keep", "oom", "--capacity", "100MiB"]) for name in TRACES]
CASES += [(str(RECORDED / "gpt2-fp32-varlen-capacity2700.hwt.xz"), ["--keep", "oom"]),
          (str(RECORDED / "long-llama-1b-default.hwt.xz"), ["--keep", "fragmentation>=40%"]),
          (str(RECORDED / "long-llama-1b-default.hwt.xz"), ["--keep", "peak>=30GiB"])]


def record_words(highwater, python, script, report):
    """The command that the report names, with this program and Python."""
    line = next(line for line in report.splitlines() if "without a GPU: " in line)
    words = shlex.split(line.split("without a GPU: ")[1])
    place = words.index("--")
    return [highwater, *words[1:place], "--output", str(script.with_suffix(".pickle")), "--", python, str(script)]


def check(highwater, python, folder, name, options):
    source = folder / f"{name}.trace" if name in TRACES else name
    if name in TRACES:
        source.write_text(TRACES[name])
    script = folder / "small.py"
    report = subprocess.run([highwater, "reduce", str(source), *options, "--script", str(script)], text=True,
                            capture_output=True, check=False)
    if report.returncode:
        return report.stderr
    run = subprocess.run(record_words(highwater, python, script, report.stdout), text=True, capture_output=True,
                         check=False, cwd=folder)
    is_shown = "shown: " in run.stdout + run.stderr if "oom" in options else run.returncode == 0
    return "" if is_shown and "not shown" not in run.stdout + run.stderr else run.stdout + run.stderr


def main():
    highwater = str(pathlib.Path(sys.argv[1]).resolve())
    python = os.environ.get("HIGHWATER_TORCH_PYTHON", sys.executable)
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    if subprocess.run([python, "-c", probe], check=False, capture_output=True).returncode:
        print(f"skipped: {python} lacks torch; HIGHWATER_TORCH_PYTHON names another")
        return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for case, options in CASES:
            problem = check(highwater, python, pathlib.Path(name), case, options)
            print(f"{pathlib.Path(case).name} {' '.join(options)}: {'differs' if problem else 'shown'}")
            print(problem, end="")
            failed += bool(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
