"""Optimizers without a step(): fused_backward() of lomo_optim differentiates the loss and updates the parameters."""
import functools

from . import after_import

_CLASSES = {"lomo_optim.lomo": "Lomo", "lomo_optim.adalomo": "AdaLomo"}


def watch(begins, ended):
    """Calls begins(optimizer) before, and ended(optimizer) after each of them."""
    for module, name in _CLASSES.items():
        after_import.after(module, functools.partial(_surround, name, begins, ended))


def _surround(name, begins, ended, module):
    owner = getattr(module, name)
    function = owner.fused_backward

    @functools.wraps(function)
    def surrounded(optimizer, *args, **kwargs):
        begins(optimizer)
        result = function(optimizer, *args, **kwargs)
        ended(optimizer)
        return result

    owner.fused_backward = surrounded
