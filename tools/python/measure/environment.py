"""What a recording ran on: versions, the device, and what the driver reports without a context."""

import ctypes
import os
import platform
import sys


class MissingError(Exception):
    """Something that recording needs is missing; the message explains what and what to do."""


def import_torch():
    """@raises MissingError"""
    try:
        import torch
    except (ImportError, OSError, ValueError) as error:  # the last two: CUDA libraries that it needs are missing
        raise MissingError(
            f"PyTorch cannot be imported by {sys.executable} ({error}): run this with the Python that has it, or "
            "install it (pip install torch transformers). --list and --dry-run work without.") from None
    return torch


def import_transformers():
    """@raises MissingError"""
    try:
        import transformers
    except ImportError as error:
        raise MissingError(
            f"transformers cannot be imported by {sys.executable} ({error}): pip install 'transformers>=5', or record "
            "only cases without it: --only '~plain-' or --part a.") from None
    if int(transformers.__version__.split(".")[0]) < 5:
        raise MissingError(f"transformers {transformers.__version__} is installed, but the models are built as "
                                "transformers 5 does: pip install 'transformers>=5'.")
    return transformers


def require_device(torch):
    """Creates the context. @raises MissingError"""
    if torch.version.cuda is None:
        raise MissingError(f"torch {torch.__version__} is built without CUDA: install the CUDA build "
                                "(https://pytorch.org/get-started), or try --device cpu --tiny.")
    try:
        torch.cuda.init()
        torch.cuda.mem_get_info()
    except (RuntimeError, AssertionError) as error:
        raise MissingError(
            f"no CUDA device can be used ({str(error).splitlines()[0]}): a machine with an NVIDIA GPU and its driver "
            "is needed (nvidia-smi shows it). --list, --dry-run and --device cpu --tiny work without.") from None


def versions(torch):
    """Members of the report; None if unknown."""
    def call(function):
        try:
            return function()
        except Exception:
            return None

    nccl = call(lambda: ".".join(map(str, torch.cuda.nccl.version())))
    return {"torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": call(torch.backends.cudnn.version), "nccl": nccl, "driver": driver_version(),
            "python": sys.version.split()[0], "platform": platform.platform(terse=True)}


def gpu_properties(torch):
    properties = torch.cuda.get_device_properties(0)
    return {"name": properties.name, "total_memory": properties.total_memory,
            "capability": [properties.major, properties.minor],
            "multi_processor_count": properties.multi_processor_count,
            "mem_get_info_start": list(torch.cuda.mem_get_info())}


def describe(torch):
    """Versions and device. @raises MissingError"""
    require_device(torch)
    return {**versions(torch), "gpu": gpu_properties(torch)}


class Nvml:
    """NVIDIA's management library, which reports the device's memory without creating a context."""

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        if self.library.nvmlInit_v2() != 0:
            raise OSError("nvmlInit failed")

    def driver(self):
        text = ctypes.create_string_buffer(96)
        self._check(self.library.nvmlSystemGetDriverVersion(text, 96))
        return text.value.decode()

    def used(self):
        """Bytes in use on the first visible device, by all processes and the driver itself."""
        class Memory(ctypes.Structure):
            _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

        memory = Memory()
        self._check(self.library.nvmlDeviceGetMemoryInfo(self._device(), ctypes.byref(memory)))
        return memory.used

    def _device(self):
        """CUDA_VISIBLE_DEVICES may name it by number or UUID."""
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] or "0"
        device = ctypes.c_void_p()
        if first.isdigit():
            self._check(self.library.nvmlDeviceGetHandleByIndex_v2(int(first), ctypes.byref(device)))
        else:
            self._check(self.library.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(device)))
        return device

    @staticmethod
    def _check(status):
        if status != 0:
            raise OSError(f"NVML answered {status}")


def driver_version():
    try:
        return Nvml().driver()
    except (OSError, AttributeError):
        return None


def used_without_context():
    """Bytes, None without NVML (a simulated device)."""
    try:
        return Nvml().used()
    except (OSError, AttributeError):
        return None
