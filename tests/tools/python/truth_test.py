"""Training that was recorded elsewhere, again under `highwater record`: the same history, event for event.

truth_test.py LIBRARIES SHARED [--python PYTHON] [--only CASE,...]

LIBRARIES: folder with cuda12/ and cuda13/. SHARED: folder with data/truth (the recordings: real PyTorch 2.6.0 on another
fake device) and rig/record (the script that trains). PYTHON needs PyTorch 2.6 built for CUDA 12 and transformers
5.12.1; without one the test is skipped (exit status 4). Addresses are compared relative to the first, streams by their
order of appearance. Under autocast PyTorch frees its casts of the weights in the order of a hash table of host
addresses, which differs between machines: there, frees between two allocations are compared as a set.
"""
import argparse
import json
import lzma
import os
import pathlib
import pickle
import platform
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "python" / "recorder"
SKIPPED = 4
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
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTORCH_")}, **settings,
        "PYTHONPATH": str(PACKAGE), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1", "HIGHWATER_RECORD_STATUS": str(folder / "status"), "HIGHWATER_RECORD_STACKS": "none",
        "HIGHWATER_RECORD_OUTPUT": str(folder / "run.pickle"),
        "HIGHWATER_RECORD_LIBRARIES": str(arguments.libraries),
        "FAKE_CUDA_GPU": f"name={gpu['name']};major={major};minor={minor};memory={gpu['total_memory']};"
                         f"multiprocessors={MULTIPROCESSORS[gpu['name']]}",
        "PYTORCH_CUDA_ALLOC_CONF": truth["case"]["alloc_conf"],
    }
    script = arguments.shared / "rig/record/record.py"
    run = subprocess.run(["setarch", platform.machine(), "-R", arguments.python, str(script), "--worker",
                          str(folder / "case.json"), "--out", str(folder), "--fake-device"],
                         env=environment, capture_output=True, text=True, check=False, cwd=folder)
    if not (folder / "run.pickle").exists():
        raise RuntimeError(f"{case}: exit status {run.returncode}, no snapshot\n{run.stderr[-2000:]}")
    with open(folder / "run.pickle", "rb") as file:
        return pickle.load(file)


def events(snapshot):
    """(action, size, stream, address) of each entry, as far as they can be equal in two processes."""
    streams = {}
    first = None
    for entry in max(snapshot["device_traces"], key=len, default=[]):
        address = entry.get("addr")
        if first is None and address is not None:
            first = address
        yield (entry["action"], entry["size"], streams.setdefault(entry["stream"], len(streams)),
               None if address is None else address - first)


def frees_sorted(sequence):
    """With each run of frees between other events in the order of addresses."""
    result, run = [], []
    for event in sequence:
        if event[0] in ("free_requested", "free_completed"):
            run.append(event)
        else:
            result += sorted(run, key=lambda free: (free[3], free[0])) + [event]
            run = []
    return result + sorted(run, key=lambda free: (free[3], free[0]))


def difference(expected, found):
    """Of two lists: None or the first place where they are not equal; what follows the end of `expected` is no
    difference, the recording goes on until the script ends."""
    for place, event in enumerate(expected):
        if place >= len(found) or found[place] != event:
            return f"event {place} of {len(expected)}: {event} was recorded, here it is " \
                   f"{found[place] if place < len(found) else 'the end'}"
    return None


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON") or sys.executable)
    parser.add_argument("--only", default=",".join(CASES))
    arguments = parser.parse_args()
    # Cases run in folders of their own.
    arguments.libraries, arguments.shared = arguments.libraries.resolve(), arguments.shared.resolve()
    reason = missing(arguments)
    if reason is not None:
        print(f"skipped: {reason}")
        return SKIPPED
    failed = 0
    for case in arguments.only.split(","):
        try:
            found, count = compare(arguments, case)
        except RuntimeError as error:
            found, count = str(error), 0
        failed += found is not None
        print(f"{case}: {found or f'{count} events identical'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
