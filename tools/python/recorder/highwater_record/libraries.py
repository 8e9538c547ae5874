"""Puts the fake CUDA libraries in the place of NVIDIA's, before torch loads them.

A shared library needed by its SONAME is not searched for once a library of that SONAME is loaded. So it does not
matter where torch's run path points, or whether NVIDIA's libraries are installed.
"""
import ctypes
import importlib.machinery
import os
import re
import sys

from . import required_releases, status
from .workspaces import cudnn

OLDEST = (2, 4)
NEWEST = (2, 15)  # tested; later releases are tried, with a warning

# Libraries need each other in this order; all others come after them.
_FIRST = ("libfakecuda.so", "libcuda.so.1", "libcudart.so")


def load(options):
    """@raises SystemExit(3) if this PyTorch cannot run on the fake device."""
    place = _torch_folder()
    if place is None:
        return  # the import itself fails, with Python's own message
    release, cuda, hip = _build(place)
    problem = _problem(release, cuda, hip)
    folder = os.path.join(options.libraries, "cuda" + (cuda or "").split(".")[0])
    if problem is None and not os.path.isdir(folder):
        problem = f"this PyTorch ({release}) is built for CUDA {cuda}; the fake device supports CUDA 12 and 13"
    if problem is not None:
        status.tell(options, "refused", release=release, cuda=cuda, place=place, reason=problem)
        print(f"highwater record: {place}: {problem}", file=sys.stderr)
        raise SystemExit(3)
    required_releases.announce(place)
    cudnn.announce(options, place)
    for name in sorted(os.listdir(folder), key=_place_in_order):
        ctypes.CDLL(os.path.join(folder, name), mode=ctypes.RTLD_GLOBAL)
    os.environ.setdefault("TRITON_LIBCUDA_PATH", folder)  # Triton links its launchers with the driver
    status.tell(options, "loaded", release=release, cuda=cuda, place=place, tested=_number(release) <= NEWEST)


def _place_in_order(name):
    return next((place for place, first in enumerate(_FIRST) if name.startswith(first)), len(_FIRST)), name


def control(options):
    """The fake runtime library, for its fakecuda_... functions. @pre load() returned"""
    import torch
    major = torch.version.cuda.split(".")[0]
    library = ctypes.CDLL(os.path.join(options.libraries, "cuda" + major, "libcudart.so." + major))
    library.fakecuda_launches.restype = ctypes.c_ulonglong
    library.fakecuda_reads.restype = ctypes.c_ulonglong
    library.fakecuda_answer.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.fakecuda_answer.restype = None
    return library


def _torch_folder():
    spec = importlib.machinery.PathFinder.find_spec("torch", sys.path)
    places = list(spec.submodule_search_locations or []) if spec else []
    return places[0] if places else None


def _build(folder):
    """(release, CUDA release or None, HIP release or None), read from torch/version.py without importing it."""
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        text = file.read()

    def value(name):
        found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]*)['\"]", text, re.MULTILINE)
        return found.group(1) if found else None

    return value("__version__") or "?", value("cuda"), value("hip")


def _number(release):
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def _problem(release, cuda, hip):
    if hip is not None:
        return f"PyTorch {release} is built for ROCm; install a CUDA build (it does not need a GPU)"
    if cuda is None:
        return f"PyTorch {release} is built without CUDA; install a CUDA build (it does not need a GPU)"
    if _number(release) < OLDEST:
        return f"PyTorch {release} is too old: {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]} are known"
    return None
