"""transformers' questions about positions and masks, answered by the recorder and by hand: the same requests.

questions_test.py LIBRARIES [--python PYTHON] [--only WORD]

LIBRARIES: folder with cuda12/ and cuda13/. Without PyTorch for CUDA, transformers and accelerate in PYTHON the test is
skipped (exit status 4). Under autocast PyTorch frees its casts of the weights in the order of a hash table of host
addresses; there, frees between two allocations are compared as a set.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from recorded_events import SKIPPED, compare_all, difference, environment, events, frees_sorted, parser, recorded

SCRIPT = pathlib.Path(__file__).with_name("questions_loop.py")
GPU = "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;memory=85017493504"
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
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        variables = {**os.environ, **environment(arguments.libraries, folder), "FAKE_CUDA_GPU": GPU}
        run = subprocess.run([arguments.python, str(SCRIPT), *words], env=variables, capture_output=True, text=True,
                             check=False, cwd=folder)
        if run.returncode:
            raise RuntimeError(f"{' '.join(words)}: exit status {run.returncode}\n{run.stderr[-1500:]}")
        return list(events(recorded(" ".join(words), run, folder)))


def compare(arguments, case):
    """The first difference, or None, and the number of events."""
    expected, found = (record(arguments, prefix + case.split()) for prefix in (["truth"], []))
    if "amp" in case.split():
        expected, found = frees_sorted(expected), frees_sorted(found)
    return difference(expected, found) or difference(found, expected), len(expected)


def main():
    options = parser(__doc__)
    options.add_argument("--only", default="")
    arguments = options.parse_args()
    arguments.libraries = arguments.libraries.resolve()
    absent = [module for module in ("torch", "transformers", "accelerate") if lacks(arguments, module)]
    if absent:
        print(f"skipped: {arguments.python} lacks {', '.join(absent)}; HIGHWATER_TORCH_PYTHON names another")
        return SKIPPED
    cases = [case for case in CASES if arguments.only in case]
    if any("lora" in case for case in cases) and lacks(arguments, "peft"):
        print("cases with lora: skipped, peft is not installed")
        cases = [case for case in cases if "lora" not in case]
    return compare_all(cases, lambda case: compare(arguments, case))


if __name__ == "__main__":
    sys.exit(main())
