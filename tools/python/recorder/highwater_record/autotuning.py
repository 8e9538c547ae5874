"""Inductor's tuning, where all candidates take the same time: none."""
import functools


def take_first_choice(module):
    """Kernels that do nothing cannot be timed: compiling all candidates takes minutes, and some find none valid. The
    first is the library's own kernel, or the template's configuration that is known to be good for the device.

    module: torch._inductor.select_algorithm, just imported.
    """
    cache = module.AlgorithmSelectorCache
    select = cache.__call__

    @functools.wraps(select)
    def __call__(self, name, choices, *args, **kwargs):
        return select(self, name, [choice for choice in choices if choice is not None][:1], *args, **kwargs)

    cache.__call__ = __call__
