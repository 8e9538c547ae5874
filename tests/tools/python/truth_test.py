"""Training that was recorded elsewhere, again under `highwater record`: the same history, event for event.

truth_test.py LIBRARIES SHARED [--python PYTHON] [--only CASE,...]

LIBRARIES: folder with cuda12/ and cuda13/. SHARED: folder with data/truth (the recordings: real PyTorch 2.6.0 on another
fake device) and rig/record (the script that trains). PYTHON needs PyTorch 2.6 built for CUDA 12 and transformers
5.12.1; without one the test is skipped (exit status 4). Addresses are compared relative to the first, streams by their
order of appearance. Under autocast PyTorch frees its casts of the weights in the order of a hash table of host
addresses, which differs between machines: there, frees between two allocations are compared as a set.
"""
import json
import lzma
import os
import pathlib
import pickle
import platform
import subprocess
import sys
import tempfile

from recorded_events import SKIPPED, compare_all, difference, environment, events, frees_sorted, parser, recorded

MULTIPROCESSORS = {"NVIDIA A100-SXM4-80GB": 108, "NVIDIA H100 80GB HBM3": 132, "Tesla V100-SXM2-16GB": 80}

CASES = (
    "core/gpt2-fp32-sdpa", "core/gpt2-fp32-eager", "core/gpt2-fp32-ckpt-re", "core/gpt2-fp32-accum4-clip-zerostart",
    "core/gpt2-bf16-adamw-fused", "core/gpt2-fp32-sgd-momentum-foreach", "core/gpt2-fp32-adafactor-loop",
    "core/gpt2-ampbf16-sdpa", "core/gpt2-ampfp16-ckpt-re", "core/h100-gpt2-fp32-sdpa",
    "core/gpt2-fp32-conf-expandable", "core/gpt2-fp32-conf-gc08", "core/gpt2-fp32-limit-oom",
    "core/gpt2-fp32-varlen-capacity2700", "core/gpt2-fp32-varlen-limit2900",
    "core/gpt2-ddp8-fp32", "core/gpt2-ddp8-fp32-lag20", "core/gpt2-fsdp1x8-mp", "core/gpt2-fsdp1x8-fp32-query3",
    "core/llama-160m-fsdp2x8-mp", "core/llama-160m-tp4", "core/plain-160m-fsdp2x2-tp4-sp",
    "core/mixtral-small-bf16-even", "long/long-gpt2-round8",
)


def missing(arguments):
    """Why nothing can be compared here, or None."""
    for place in (arguments.libraries / "cuda12", arguments.shared / "data/truth", arguments.shared / "rig/record"):
        if not place.is_dir():
            return f"{place} is not there"
    probe = "import importlib.metadata as m; print(m.version('torch'), m.version('transformers'))"
    found = subprocess.run([arguments.python, "-c", probe], capture_output=True, text=True, check=False).stdout.split()
    if len(found) != 2 or not found[0].startswith("2.6.") or found[1] != "5.12.1":
        return f"{arguments.python} has {' and '.join(found) or 'no PyTorch'}, not PyTorch 2.6 and transformers 5.12.1"
    return None


def record(arguments, case, truth, folder):
    """The snapshot of this run of the case."""
    gpu = truth["gpu"]
    major, minor = gpu["capability"]
    settings = {f"FAKE_CUDA_{name.upper()}": str(value) for name, value in truth["case"]["rig"].items()
                if name not in ("profile", "capacity")}
    (folder / "case.json").write_text(json.dumps(truth["case"]))
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTORCH_")}, **settings,
        **environment(arguments.libraries, folder),
        "FAKE_CUDA_GPU": f"name={gpu['name']};major={major};minor={minor};memory={gpu['total_memory']};"
                         f"multiprocessors={MULTIPROCESSORS[gpu['name']]}",
        "PYTORCH_CUDA_ALLOC_CONF": truth["case"]["alloc_conf"],
    }
    script = arguments.shared / "rig/record/record.py"
    run = subprocess.run(["setarch", platform.machine(), "-R", arguments.python, str(script), "--worker",
                          str(folder / "case.json"), "--out", str(folder), "--fake-device"],
                         env=variables, capture_output=True, text=True, check=False, cwd=folder)
    return recorded(case, run, folder)


def compare(arguments, case):
    """The first difference, or None, and the number of events."""
    place = arguments.shared / "data/truth" / case
    truth = json.loads(place.with_name(place.name + ".json").read_text())
    with lzma.open(place.with_name(place.name + ".pickle.xz")) as file:
        expected = list(events(pickle.load(file)))
    with tempfile.TemporaryDirectory() as folder:
        found = list(events(record(arguments, case, truth, pathlib.Path(folder))))[:len(expected)]
    if truth["case"]["precision"].startswith("amp"):
        expected, found = frees_sorted(expected), frees_sorted(found)
    return difference(expected, found), len(expected)


def main():
    options = parser(__doc__)
    options.add_argument("shared", type=pathlib.Path)
    options.add_argument("--only", default=",".join(CASES))
    arguments = options.parse_args()
    # Cases run in folders of their own.
    arguments.libraries, arguments.shared = arguments.libraries.resolve(), arguments.shared.resolve()
    reason = missing(arguments)
    if reason is not None:
        print(f"skipped: {reason}")
        return SKIPPED
    return compare_all(arguments.only.split(","), lambda case: compare(arguments, case))


if __name__ == "__main__":
    sys.exit(main())
