"""Weights that a script makes on the host take address space only.

Their values matter to nobody: the device computes nothing. So torch.nn.init leaves large floating-point tensors of the
host as they were allocated, pages that nobody has touched, and a model of any size is made at once. What is not a
weight is left alone: other ways to fill a tensor do what they always do.
"""
import functools
import inspect

_SMALLEST = 1 << 20  # bytes; below, memory may be another tensor's old one, and filling it takes no time

_FILLING = ("uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_", "xavier_uniform_",
            "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_")


_METHODS = ("normal_", "uniform_", "zero_", "fill_")  # of tensors


def leave_untouched(init):
    """init: the module torch.nn.init, just imported."""
    for name in _FILLING:
        setattr(init, name, _sparing(getattr(init, name)))


def _sparing(fill):
    @functools.wraps(fill)
    def spared(tensor, *args, **kwargs):
        return tensor if _is_spared(tensor) else fill(tensor, *args, **kwargs)

    return spared


def _is_spared(tensor):
    return tensor.is_cpu and tensor.is_floating_point() and tensor.numel() * tensor.element_size() >= _SMALLEST


def leave_untouched_by_transformers(modeling):
    """modeling: transformers.modeling_utils. Before release 5 each model's _init_weights() fills its parameters by
    methods of tensors (`module.weight.data.normal_()`), which takes minutes for a billion of them."""
    kind = modeling.PreTrainedModel
    name = "_initialize_weights" if hasattr(kind, "_initialize_weights") else "_init_weights"
    initialize = inspect.getattr_static(kind, name)

    @functools.wraps(initialize)
    def spared(model, *args, **kwargs):
        with _spared_methods():
            return initialize(model, *args, **kwargs)

    setattr(kind, name, spared)


def _spared_methods():
    from torch.overrides import TorchFunctionMode

    class Spared(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if args and getattr(function, "__name__", "") in _METHODS and _is_spared(args[0]):
                return args[0]
            return function(*args, **(kwargs or {}))

    return Spared()
