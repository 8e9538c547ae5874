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


def compile_one_configuration(module):
    """The same for the shapes of a generated kernel, of which max-autotune compiles up to a dozen and then tries the
    neighbours of the best; that divides by a time, which is zero under PyTorch 2.6.

    module: torch._inductor.runtime.triton_heuristics, just imported.
    """
    tuner = module.CachingAutotuner
    make = tuner.__init__

    @functools.wraps(make)
    def __init__(self, *args, configs, **kwargs):
        make(self, *args, configs=configs[:1], **kwargs)

    tuner.__init__ = __init__
    tuner.coordinate_descent_tuning = lambda self, launcher, *args, **kwargs: launcher
