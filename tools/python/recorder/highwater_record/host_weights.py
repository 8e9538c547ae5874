"""Weights that a script makes on the host take address space only.

Their values matter to nobody: the device computes nothing. So torch.nn.init leaves large floating-point tensors of the
host as they were allocated, pages that nobody has touched, and a model of any size is made at once. What is not a
weight is left alone: other ways to fill a tensor do what they always do.
"""
import functools

_SMALLEST = 1 << 20  # bytes; below, memory may be another tensor's old one, and filling it takes no time

_FILLING = ("uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_", "xavier_uniform_",
            "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_")


def leave_untouched(init):
    """init: the module torch.nn.init, just imported."""
    for name in _FILLING:
        setattr(init, name, _sparing(getattr(init, name)))


def _sparing(fill):
    @functools.wraps(fill)
    def spared(tensor, *args, **kwargs):
        if tensor.is_cpu and tensor.is_floating_point() and tensor.numel() * tensor.element_size() >= _SMALLEST:
            return tensor
        return fill(tensor, *args, **kwargs)

    return spared
