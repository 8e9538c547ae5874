"""Captures of CUDA graphs, and calls of empty_cache: what the allocator's history does not name.

An entry tells its pool, but not which capture it belongs to where captures share one; and an empty_cache that found
nothing to release leaves no entry, although torch.cuda.graph makes one before each capture (torch/cuda/graphs.py,
2.15): in another order it would have released something.
"""
from . import phases

CAPTURE_BEGIN, CAPTURE_END, EMPTY_CACHE = "cuda graph capture begins", "cuda graph capture ends", "empty_cache"


def mark(torch, clock, marks):
    """Adds their marks to `marks` as they happen."""
    def note(name):
        return lambda: marks.append(phases.Mark(clock.now(), name))

    phases.surround(torch.cuda.CUDAGraph, "capture_begin", note(CAPTURE_BEGIN), phases.nothing)
    phases.surround(torch.cuda.CUDAGraph, "capture_end", phases.nothing, note(CAPTURE_END))
    for owner in (torch.cuda, torch.cuda.memory):
        phases.surround(owner, "empty_cache", phases.nothing, note(EMPTY_CACHE))
