"""Captures of CUDA graphs: an entry tells its pool, but not which capture it belongs to where captures share one."""
from . import phases

CAPTURE_BEGIN, CAPTURE_END = "cuda graph capture begins", "cuda graph capture ends"


def mark(torch, clock, marks):
    """Adds their marks to `marks` as they happen."""
    def note(name):
        return lambda: marks.append(phases.Mark(clock.now(), name))

    phases.surround(torch.cuda.CUDAGraph, "capture_begin", note(CAPTURE_BEGIN), phases.nothing)
    phases.surround(torch.cuda.CUDAGraph, "capture_end", phases.nothing, note(CAPTURE_END))
