"""Arguments of torch.distributions are checked by their values, which nobody knows on the fake device."""
import functools


def accept(module):
    """What a check computes is asked for as ever; then it is said to hold. module: torch.distributions.distribution"""
    check = getattr(module, "_all_true_or_runtime_assert", None)  # earlier releases ask torch itself
    if check is None:
        return

    @functools.wraps(check)
    def accepted(valid, *message):
        return check(valid, *message) or valid.is_cuda

    module._all_true_or_runtime_assert = accepted
