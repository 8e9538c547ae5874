"""Blocks that cuBLAS and cuBLASLt compute in: PyTorch asks its allocator for them around a product, or once for a handle
(aten/src/ATen/cuda/CublasHandlePool.cpp, CUDABlas.cpp).
"""
_LINEAR = "torch/nn/modules/linear.py"


def kept(torch):
    """Addresses of what handles keep: the blocks that are freed when PyTorch is told to drop its workspaces."""
    before = _live(torch)
    torch._C._cuda_clearCublasWorkspaces()
    return before - _live(torch)


def _live(torch):
    return {block["address"] for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]
            if block["state"] == "active_allocated" and "address" in block}


def passing(history):
    """Positions of those that live for one product: they are freed before anything else is allocated, and have the size
    of those inside nn.Linear, which asks for nothing else of that kind."""
    found = pairs(history)
    sizes = {history[position]["size"] for position in found if _is_in_linear(history[position])}
    return [position for position in found if history[position]["size"] in sizes]


def pairs(history):
    """Positions of the blocks that are freed before anything else happens."""
    return [position for position in range(len(history) - 1) if history[position]["action"] == "alloc" and
            history[position + 1]["action"] == "free_requested" and
            history[position]["addr"] == history[position + 1]["addr"]]


def _is_in_linear(entry):
    frames = entry.get("frames", ())
    return bool(frames) and frames[0]["filename"].endswith(_LINEAR)
