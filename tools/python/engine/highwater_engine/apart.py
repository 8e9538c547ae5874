"""What must not be imported in the process that forks, or only with its questions answered for it.

Some packages ask the device what it can do as soon as they are imported, and transformers and PEFT import them where
they are installed. PyTorch refuses the device to forks of a process that has asked; and runs have different GPUs.
"""
import contextlib
import functools
import importlib
import importlib.util
import os
import pickle

from . import channel

ASK_AT_IMPORT = ("torchao",)
ONLY_REPORT = ("bitsandbytes",)  # the answer goes into messages (cuda_specs.py of 0.50), the same for all GPUs then
CAPABILITY = (9, 0)


def load_reporting(torch):
    """Imports what only reports the answer, with an answer that does not come from the device."""
    asked = torch.cuda.get_device_capability
    torch.cuda.get_device_capability = lambda *_: CAPABILITY
    try:
        for name in filter(importlib.util.find_spec, ONLY_REPORT):
            with contextlib.suppress(Exception):  # the script meets it again, and its message is the one to show
                importlib.import_module(name)
    finally:
        torch.cuda.get_device_capability = asked


@functools.cache
def is_needed():
    return any(importlib.util.find_spec(name) is not None for name in ASK_AT_IMPORT)


def result(function, *arguments):
    """What the function returns, called in a fork."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        channel.leave()
        try:
            with os.fdopen(writing, "wb") as file:
                pickle.dump(function(*arguments), file)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return pickle.loads(text) if text else {"refused": "Python ended while it read the plan"}
