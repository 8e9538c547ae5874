"""Call stacks as they would be without the recorder."""
import os

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_REDISPATCH = os.path.join("torch", "_ops.py")


def without_recorder(frames):
    """The frames, innermost first, without those of this package and of the dispatcher's call below it."""
    kept = []
    for frame in frames:
        if not frame["filename"].startswith(_OURS):
            kept.append(frame)
            continue
        while kept and kept[-1]["filename"].endswith(_REDISPATCH):
            kept.pop()
    return kept
