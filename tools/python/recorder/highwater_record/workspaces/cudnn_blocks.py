"""Names the blocks that cuDNN's plans compute in: a frame "operator" in front of their stacks.

The fake libcudnn says where each plan that was run had its workspace (fakecuda.h, fakecuda_cudnn_workspaces()); PyTorch
allocates it right before the plan runs and frees it right after (aten/src/ATen/native/cudnn/Conv_v8.cpp, MHA.cpp).
"""
import ctypes

from . import cublas

FRAME = "operator"
NAME = "cuDNN workspace"
# cudnnBackendDescriptorType_t of a graph's first operation
_OPERATIONS = {10: "convolution", 11: "convolution's weight gradient", 12: "convolution's input gradient"}
_OTHERS = "attention"  # which cudnn-frontend composes of many
_FURTHEST = 4096  # blocks of others between two of cuDNN's


class _Execution(ctypes.Structure):
    _fields_ = [("address", ctypes.c_ulonglong), ("operation", ctypes.c_int)]


def executions(library):
    """[(address, operation)] of the plans that were run with a workspace, in this order. library: the fake libcudnn."""
    ask = library.fakecuda_cudnn_workspaces
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_size_t]
    room = (_Execution * ask(None, 0))()
    ask(room, len(room))
    return [(each.address, each.operation) for each in room]


def name_blocks(snapshot, executed):
    """Puts the frame in front of the stacks of the blocks that the plans had."""
    for history in snapshot["device_traces"]:
        known = {}
        for position, operation in _matched(history, executed):
            entry = history[position]
            if "frames" in entry:
                frames = entry["frames"]
                name = f"{NAME} ({_OPERATIONS.get(operation, _OTHERS)})"
                if (id(frames), name) not in known:  # the old list is kept, so that its id stays its own
                    known[id(frames), name] = frames, [{"filename": FRAME, "name": name, "line": 0}, *frames]
                entry["frames"] = known[id(frames), name][1]


def is_named(entry):
    frames = entry.get("frames", ())
    return bool(frames) and frames[0]["filename"] == FRAME and frames[0]["name"].startswith(NAME)


def _matched(history, executed):
    """(position, operation) of the blocks, each freed before anything else is allocated, as cuBLAS's are."""
    others = set(cublas.passing(history))
    blocks = [position for position in cublas.pairs(history) if position not in others]
    first = 0
    for address, operation in executed:
        for place in range(first, min(first + _FURTHEST, len(blocks))):
            entry = history[blocks[place]]
            if entry["addr"] <= address <= entry["addr"] + entry["size"]:  # the frontend's own part comes first
                yield blocks[place], operation
                first = place + 1
                break
