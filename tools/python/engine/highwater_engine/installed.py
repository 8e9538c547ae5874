"""Which releases this Python has, without importing any of them."""
import hashlib
import importlib.util
import json
import os
import runpy
import sys
from importlib import metadata


def releases():
    """"torch", "transformers" (None without it), and "installed": a word for everything that decides what a script
    does; None where something may change under the same release. @raises SystemExit without a CUDA build of PyTorch"""
    return {"torch": _torch(), "transformers": _release("transformers"), "installed": _installed()}


def _torch():
    found = importlib.util.find_spec("torch")
    if found is None or not found.origin:
        sys.exit("has no PyTorch")
    version = runpy.run_path(os.path.join(os.path.dirname(found.origin), "version.py"))
    if version.get("cuda") is None:
        sys.exit(f"has PyTorch {version['__version__']}, built without CUDA")
    return version["__version__"]


def _release(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _installed():
    packages = list(metadata.distributions())
    if _other_folders() or any(map(_is_editable, packages)):
        return None
    names = sorted(f"{package.name} {package.version}" for package in packages)
    return hashlib.sha1("\n".join([sys.version, *names]).encode()).hexdigest()


def _other_folders():
    """Of PYTHONPATH: code without a release."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder not in ("", own)]


def _is_editable(package):
    origin = package.read_text("direct_url.json")
    return origin is not None and json.loads(origin).get("dir_info", {}).get("editable", False)
