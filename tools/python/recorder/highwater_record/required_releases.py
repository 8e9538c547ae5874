"""Which cuDNN and NCCL a PyTorch wheel requires: what PyTorch does with them depends on their release.

The fake libraries answer with it (FAKE_CUDNN_VERSION, FAKE_NCCL_VERSION). Distributions that package PyTorch
differently have no such list; then the fake libraries' own defaults apply.
"""
import glob
import os
import re

_LIBRARIES = {"cudnn": "FAKE_CUDNN_VERSION", "nccl": "FAKE_NCCL_VERSION"}


def announce(torch_folder, environment=os.environ):
    """Sets the variables that are not set."""
    for name, number in _required(torch_folder).items():
        environment.setdefault(_LIBRARIES[name], str(number))


def _required(torch_folder):
    """{"cudnn": 90100, "nccl": 22105}: major * 10000 + minor * 100 + patch, as both libraries count."""
    found = {}
    for path in glob.glob(os.path.join(os.path.dirname(torch_folder), "torch-*.dist-info", "METADATA")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                match = re.match(r"Requires-Dist: nvidia-(cudnn|nccl)-cu\d+\s*\(?==(\d+)\.(\d+)\.(\d+)", line)
                if match:
                    major, minor, patch = (int(number) for number in match.groups()[1:])
                    found[match.group(1)] = major * 10000 + minor * 100 + patch
    return found
