"""NVIDIA's own cuDNN, which the fake one asks for plans and their workspaces (tools/record/fakecuda/cudnn).

It is loaded by a process of its own; this one only says where it lies: in the folder that the user names, else where
the loader would find it for PyTorch, in NVIDIA's wheel (nvidia/cudnn/lib) or in torch/lib.
"""
import contextlib
import ctypes
import glob
import os
import sys

_LIBRARY = "libcudnn.so.9"
# NVIDIA's wheels for CUDA 13 and 12
_COMPILERS = ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12")


def announce(options, torch_folder):
    """Sets what the fake libcudnn reads; @pre it has not been loaded."""
    folder = options.cudnn or _installed(torch_folder)
    if not folder:
        return
    program = os.path.join(options.libraries, "cudnn", "cudnn_library")
    os.environ.update(FAKE_CUDNN_LIBRARY=os.path.join(folder, _LIBRARY), FAKE_CUDNN_PROGRAM=program,
                      FAKE_CUDNN_COMPILER=_compiler(folder, torch_folder), FAKE_CUDNN_OTHER="1" if options.cudnn else "0",
                      FAKE_CUDNN_CACHE=_cache(options.cudnn_cache))


def facts(torch, options):
    """What became of cuDNN's plans, for the report: the lines of fakecuda_cudnn() (fakecuda.h)."""
    library = fake_library(torch, options)
    size = library.fakecuda_cudnn(None, 0)
    text = ctypes.create_string_buffer(size + 1)
    library.fakecuda_cudnn(text, size + 1)
    lines = dict(line.partition(" ")[::2] for line in text.value.decode(errors="replace").splitlines())
    found = {name: int(value) if name not in ("library", "compiler", "problem") else value for name, value in lines.items()}
    return {**found, "other": bool(options.cudnn), "benchmark": bool(torch.backends.cudnn.benchmark)}


def fake_library(torch, options):
    """The libcudnn of this process."""
    major = torch.version.cuda.split(".")[0]
    return ctypes.CDLL(os.path.join(options.libraries, "cuda" + major, _LIBRARY))


def counted(found):
    """What a plan needs of these facts: how many plans were taken, and how many of them count no workspace."""
    return {"plans": found["plans"], "not_counted": found["plans_not_counted"]}


def _installed(torch_folder):
    places = [os.path.join(entry, "nvidia", "cudnn", "lib") for entry in sys.path] + [os.path.join(torch_folder, "lib")]
    return next((place for place in places if os.path.exists(os.path.join(place, _LIBRARY))), None)


def _compiler(folder, torch_folder):
    """NVRTC, with which cuDNN compiles plans of attention: beside cuDNN, else beside PyTorch; "" if there is none."""
    beside = [os.path.dirname(os.path.dirname(folder))]
    installed = [os.path.join(entry, "nvidia") for entry in sys.path]
    found = [path for place in beside + installed for name in _COMPILERS for path in glob.glob(os.path.join(place, name))]
    return next(iter(found + sorted(glob.glob(os.path.join(torch_folder, "lib", "libnvrtc*.so.1[23]")))), "")


def _cache(folder):
    """The folder, made for this user alone; "" if that is not possible."""
    if not folder:
        return ""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.stat(folder)
        if found.st_uid == os.geteuid() and not found.st_mode & 0o077:
            return folder
    return ""
