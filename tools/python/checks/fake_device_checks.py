"""Checks that were written for another fake device, run with a real PyTorch on these libraries.

fake_device_checks.py LIBRARIES [RIG] [--python PYTHON] [--only NAME,...] [--output FOLDER]

LIBRARIES: folder with cuda12/ and cuda13/. RIG: folder with checks/ and src/fakecuda.py. Without the rig, or a PyTorch
for CUDA in PYTHON, the run is skipped (exit status 4). "self" is for PyTorch 2.6, transformers are needed by it and by
"transformers". A check passes if its script ends with status 0 and its output has what is expected, if anything is. One
line per check; its output goes to FOLDER/NAME.txt.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 4
SECONDS = 600

GPUS = {
    "a100-80": "",
    "h100-80": "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;memory=84943044608",
    "v100-16": "name=Tesla V100-SXM2-16GB;major=7;minor=0;multiprocessors=80;memory=16160M",
    "b200": "name=NVIDIA B200;major=10;minor=0;multiprocessors=148;memory=191000M",
}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
SMALL = {"FAKE_CUDA_CAPACITY": "2G"}
H100 = {"FAKE_CUDA_GPU": GPUS["h100-80"]}

# name: (script and its arguments, environment, what its output must have).
CHECKS = {
    "self": (["selfcheck.py"], {}, "self-check passed"),
    "basic": (["c01_basic.py"], {}, None),
    **{f"layers-{gpu}": (["c02_layers.py"], {"FAKE_CUDA_GPU": text}, None) for gpu, text in GPUS.items()},
    **{f"profile-{gpu}": (["c07_profile.py"], {"FAKE_CUDA_GPU": text}, None) for gpu, text in GPUS.items()},
    "sdpa": (["c03_sdpa.py"], {}, "CUDNN_ATTENTION ok"),
    "alloc": (["c04_alloc.py"], SMALL, "graph ok"),
    "alloc-expandable": (["c04_alloc.py"], {**SMALL, **EXPANDABLE}, "graph ok"),
    "alloc-firstfit": (["c04_alloc.py"], {**SMALL, "FAKE_CUDA_ADDRESS": "first-fit"}, "graph ok"),
    "alloc-lag": (["c04_alloc.py"], {**SMALL, "FAKE_CUDA_EVENT_LAG": "500"}, "graph ok"),
    "alloc-queries": (["c04_alloc.py"], {**SMALL, "FAKE_CUDA_EVENT_QUERIES": "5"}, "graph ok"),
    "alloc-async": (["c04_alloc.py"], {**SMALL, "PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "graph ok"),
    **{f"dist-fake-{what}": (["c05_dist.py", what, "fake"], {}, f"{what} fake DONE")
       for what in ("coll", "fsdp1", "fsdp2", "tp")},
    **{f"dist-nccl-{what}": (["c05_dist.py", what, "nccl"], {}, f"{what} nccl DONE")
       for what in ("coll", "ddp", "zero1", "fsdp1", "fsdp2", "tp")},
    "big": (["c06_big.py"], {"FAKE_CUDA_CAPACITY": "80G"}, None),
    "more": (["c08_more.py"], {"FAKE_CUDA_DEVICES": "2"}, None),
    "answer": (["c09_answer.py"], {}, "compile partition ok"),
    "processes": (["c10_processes.py"], {}, "rank 1"),
    "exit": (["c12_exit.py"], {}, "end"),
    "transformers": (["c13_hf.py"], {}, None),
    "repeatable": (["c14_repeatable.py"], {}, "identical"),
    **{f"titan-{mode}": (["c11_titan8b.py", mode], {**EXPANDABLE, **H100}, "step 4 reserved peak GiB")
       for mode in ("none", "2", "full")},
}

# Published peaks of reserved memory of torchtitan, in GiB, are 53.12, 40.6 and 28.07. PyTorch 2.15 keeps no workspaces
# for cuBLAS, so that it needs a little less.
PEAK_RELEASES = ("2.6.", "2.11.")
PEAKS = {"titan-none": "step 4 reserved peak GiB 53.12", "titan-2": "step 4 reserved peak GiB 40.62",
         "titan-full": "step 4 reserved peak GiB 28.03"}

# Every process of a check starts with this: children, too.
START = """
import ctypes, glob
for name in ("libfakecuda.so", "libcuda.so", "libcudart.so", ""):
    for path in sorted(glob.glob({folder!r} + "/" + name + "*")):
        ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
"""


def torch_build(python):
    """(release of torch, major release of CUDA that it is built for); each None if there is none."""
    probe = ("import importlib.util as u, json, os; place = u.find_spec('torch').submodule_search_locations[0]; "
             "spec = u.spec_from_file_location('version', os.path.join(place, 'version.py')); "
             "version = u.module_from_spec(spec); spec.loader.exec_module(version); "
             "print(json.dumps([version.__version__, version.cuda]))")
    done = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, None
    release, cuda = json.loads(done.stdout)
    return release, cuda and cuda.partition(".")[0]


def missing(arguments):
    """Why nothing can be run here, or None."""
    if arguments.rig is None:
        return "no RIG is given"
    for place in (arguments.rig / "checks", arguments.rig / "src/fakecuda.py", arguments.libraries):
        if not place.exists():
            return f"{place} is not there"
    if arguments.cuda is None:
        return f"{arguments.python} has no PyTorch that is built for CUDA"
    if not (arguments.libraries / f"cuda{arguments.cuda}").is_dir():
        return f"{arguments.libraries} has no libraries for CUDA {arguments.cuda}"
    return None


def prepare(arguments, folder):
    """Fills the folder that the checks find their modules in; returns the environment."""
    libraries = arguments.libraries.resolve() / f"cuda{arguments.cuda}"
    (folder / "sitecustomize.py").write_text(START.format(folder=str(libraries)))
    answers = (arguments.rig / "src/fakecuda.py").read_text()
    (folder / "fakecuda.py").write_text(answers.replace("libcudart.so.12", f"libcudart.so.{arguments.cuda}"))
    return {
        **{name: value for name, value in os.environ.items()
           if not name.startswith(("FAKE_CUDA_", "PYTORCH_", "HIGHWATER_"))},
        "PYTHONPATH": os.pathsep.join([str(folder), str(arguments.rig.resolve() / "record")]),
        "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "USE_LIBUV": "0",
        "TRITON_LIBCUDA_PATH": str(libraries),
    }


def run(arguments, name, environment):
    """What went wrong, or None."""
    command, settings, expected = CHECKS[name]
    if arguments.release.startswith(PEAK_RELEASES):
        expected = PEAKS.get(name, expected)
    checks = arguments.rig.resolve() / "checks"
    output = arguments.output / f"{name}.txt"
    with open(output, "w", encoding="utf-8") as file:
        try:
            status = subprocess.run([arguments.python, str(checks / command[0]), *command[1:]], cwd=arguments.output,
                                    env={**environment, **settings}, stdout=file, stderr=subprocess.STDOUT,
                                    stdin=subprocess.DEVNULL, timeout=SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            return f"no end after {SECONDS} s"
    text = output.read_text(errors="replace")
    last = text.strip().rpartition("\n")[2]
    if status != 0:
        return f"status {status}: {last}"
    if expected is not None and expected not in text:
        return f"no '{expected}': {last}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("rig", type=pathlib.Path, nargs="?")
    parser.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON") or sys.executable)
    parser.add_argument("--only", default=",".join(CHECKS))
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.release, arguments.cuda = torch_build(arguments.python)
    reason = missing(arguments)
    if reason is not None:
        print(f"skipped: {reason}")
        return SKIPPED
    arguments.output = (arguments.output or pathlib.Path(tempfile.mkdtemp())).resolve()
    arguments.output.mkdir(parents=True, exist_ok=True)
    print(f"output in {arguments.output}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = prepare(arguments, pathlib.Path(folder))
        for name in arguments.only.split(","):
            problem = run(arguments, name, environment)
            failed += problem is not None
            print(f"ok   {name}" if problem is None else f"FAIL {name}: {problem}", flush=True)
    return 1 if failed else 0


sys.exit(main())
