"""transformers' questions about positions and masks, answered by the recorder and by hand: the same requests.

questions_test.py LIBRARIES [--python PYTHON] [--only WORD]

LIBRARIES: folder with cuda12/ and cuda13/. Without PyTorch for CUDA, transformers and accelerate in PYTHON the test is
skipped (exit status 4). Under autocast PyTorch frees its casts of the weights in the order of a hash table of host
addresses; there, frees between two allocations are compared as a set.
"""
import argparse
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

from truth_test import PACKAGE, difference, events, frees_sorted

SCRIPT = pathlib.Path(__file__).with_name("questions_loop.py")
SKIPPED = 4
CASES = (
    "gemma bf16 checkpoint fused", "gpt2 host", "gpt2 keep cache", "gpt2 keep cache mask", "gpt2 padded",
    "gpt2 bf16 checkpoint", "gpt2 checkpoint reentrant", "llama amp checkpoint", "llama bf16 fused checkpoint mask",
    "llama lora bf16 checkpoint", "opt bf16 eager checkpoint", "qwen2 amp checkpoint", "mixtral bf16 mask",
    "trainer gpt2 amp", "trainer gpt2 amp checkpoint", "trainer gpt2", "trainer llama lora bf16 checkpoint",
    "trainer llama amp accumulated mask", "trainer opt amp", "trainer qwen2 amp checkpoint", "trainer qwen3 bf16",
)


def lacks(arguments, module):
    probe = f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is not None)"
    return subprocess.run([arguments.python, "-c", probe], check=False, capture_output=True).returncode == 0


def record(arguments, words):
    """The events of one run."""
    with tempfile.TemporaryDirectory() as folder:
        snapshot = pathlib.Path(folder) / "run.pickle"
        environment = {
            **os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HIGHWATER_RECORD_STATUS": folder + "/status",
            "HIGHWATER_RECORD_STACKS": "none", "HIGHWATER_RECORD_OUTPUT": str(snapshot),
            "HIGHWATER_RECORD_LIBRARIES": str(arguments.libraries),
            "FAKE_CUDA_GPU": "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;memory=85017493504",
        }
        run = subprocess.run([arguments.python, str(SCRIPT), *words], env=environment, capture_output=True, text=True,
                             check=False, cwd=folder)
        if run.returncode or not snapshot.exists():
            raise RuntimeError(f"{' '.join(words)}: exit status {run.returncode}\n{run.stderr[-1500:]}")
        with open(snapshot, "rb") as file:
            return list(events(pickle.load(file)))


def compare(arguments, case):
    """The first difference, or None, and the number of events."""
    expected, found = (record(arguments, prefix + case.split()) for prefix in (["truth"], []))
    if "amp" in case.split():
        expected, found = frees_sorted(expected), frees_sorted(found)
    return difference(expected, found) or difference(found, expected), len(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON") or sys.executable)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.libraries = arguments.libraries.resolve()
    absent = [module for module in ("torch", "transformers", "accelerate") if lacks(arguments, module)]
    if absent:
        print(f"skipped: {arguments.python} lacks {', '.join(absent)}; HIGHWATER_TORCH_PYTHON names another")
        return SKIPPED
    failed = 0
    for case in (case for case in CASES if arguments.only in case):
        if "lora" in case and lacks(arguments, "peft"):
            print(f"{case}: skipped, peft is not installed")
            continue
        try:
            found, count = compare(arguments, case)
        except RuntimeError as error:
            found, count = str(error), 0
        failed += found is not None
        print(f"{case}: {found or f'{count} events identical'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
