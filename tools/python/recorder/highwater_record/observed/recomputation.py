"""What is computed again in a backward pass, and by which kind of checkpointing."""
import os
import sys

_CHECKPOINT = os.path.join("torch", "utils", "checkpoint.py")


def described():
    """To be called where a module runs again."""
    from torch.utils import _python_dispatch
    modes = _python_dispatch._get_current_dispatch_mode_stack()
    return {"reentrant": _runs("backward"),
            "selective": any(type(mode).__name__ == "_CachedTorchDispatchMode" for mode in modes)}


def blocks(torch, model, again):
    """Of each list of modules in the model that has any: its length, which ran again whole, and which in part.

    again: {id of a module that ran again and that no other called: module}
    """
    found = []
    for name, part in model.named_modules():
        if isinstance(part, torch.nn.ModuleList):
            shares = [_share(block, again) for block in part]
            if any(shares):
                found.append({"list": name, "length": len(shares), "whole": [i for i, share in enumerate(shares) if share == 1],
                              "part": [i for i, share in enumerate(shares) if 0 < share < 1]})
    return [one for one in found if not any(one["list"].startswith(outer["list"] + ".") for outer in found)]


def _share(block, again):
    """How much of a module ran again: all of it if it was called, or all of its children with parameters."""
    if id(block) in again:
        return 1
    children = [child for child in block.children() if next(child.parameters(), None) is not None]
    shares = [_share(child, again) for child in children]
    return sum(shares) / len(shares) if shares else 0


def _runs(name):
    """Whether a function of torch.utils.checkpoint with this name is running in this thread."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == name and frame.f_code.co_filename.endswith(_CHECKPOINT):
            return True
        frame = frame.f_back
    return False
