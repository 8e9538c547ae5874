"""The simulated device of tools/record/fakecuda for processes that record without `highwater record`.

A process finds the libraries through a sitecustomize.py, which does what the recorder does for them: they are loaded
before torch, and learn how large a group is that is split off.
"""

import os
from pathlib import Path

RECORDER = Path(__file__).resolve().parents[1] / "recorder"

# FAKE_CUDA_GPU by the name that a case has in rig.profile; the device's own default is an A100.
GPUS = {
    "a100-80": "",
    "h100-80": "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;memory=84943044608",
    "v100-16": "name=Tesla V100-SXM2-16GB;major=7;minor=0;multiprocessors=80;memory=16160M",
    "b200": "name=NVIDIA B200;major=10;minor=0;multiprocessors=148;memory=191000M",
}

_START = """
import sys, types
sys.path.insert(0, {recorder!r})
from highwater_record import after_import, libraries, splits
sys.path.remove({recorder!r})
options = types.SimpleNamespace(libraries={libraries!r}, status_file={nowhere!r})
after_import.before("torch", lambda: libraries.load(options))
after_import.after("torch.distributed.distributed_c10d", lambda c10d: splits.announce(c10d, options))
"""


def write_start(folder, libraries):
    """libraries: folder with cuda12/ and cuda13/. `folder` is to be first on PYTHONPATH."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _START.format(recorder=str(RECORDER), libraries=str(Path(libraries).resolve()), nowhere=os.devnull)
    (folder / "sitecustomize.py").write_text(text)


def environment(*packages):
    """Variables of a process with these folders first on its path: nothing of the caller's settings, same hashes."""
    inherited = {name: value for name, value in os.environ.items()
                 if not name.startswith(("FAKE_CUDA_", "FAKE_CUDNN_", "FAKE_NCCL_", "PYTORCH_", "HIGHWATER_"))}
    return {**inherited, "PYTHONPATH": os.pathsep.join(map(str, packages)), "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def case_variables(rig):
    """What a case's `rig` says to the device."""
    variables = {f"FAKE_CUDA_{key.upper()}": str(value) for key, value in rig.items()}
    if GPUS.get(rig.get("profile")):
        variables["FAKE_CUDA_GPU"] = GPUS[rig["profile"]]
    return variables
