"""Transformer Engine's routers: one kernel scores the experts, chooses, and writes the map of who goes where.

PyTorch's own topk is answered in values.py; nobody sees this kernel's, so its map gets the same choices here.
"""
import functools


def tell_choices(module, router, values):
    """module: transformer_engine.pytorch.router; router: routing.Router; values: values.Values."""
    for name, place in (("FusedTopkScoreFunction", 1), ("FusedTopkScoreFunctionQB", 1), ("FusedComputeScoresForMoEAuxLoss", 0)):
        function = getattr(module, name, None)
        if function is not None:
            function.forward = staticmethod(_told(function.forward, place, router, values))


def _told(forward, place, router, values):
    """`place`: of the map among what `forward` returns."""
    @functools.wraps(forward)
    def told(ctx, logits, topk, *rest, **named):
        result = forward(ctx, logits, topk, *rest, **named)
        if isinstance(topk, int):
            values.learn(result[place], lambda: _filled(result[place], logits, topk, router))
        return result

    return told


def _filled(routed, logits, topk, router):
    """What the kernel would write: a truth value or a bit for each expert, or the numbers of those that were chosen."""
    import torch
    experts = logits.shape[-1]
    choices = router.choices(logits.shape, topk)
    if routed.shape[-1] == topk and routed.dtype in (torch.int32, torch.int64, torch.int16):
        return choices.to(routed.dtype)
    chosen = torch.zeros(*logits.shape[:-1], experts, dtype=torch.bool, device="cpu").scatter_(-1, choices, True)
    if routed.dtype == torch.bool:
        return chosen
    bits = torch.nn.functional.pad(chosen, (0, -experts % 8)).unflatten(-1, (-1, 8))
    return (bits * (2 ** torch.arange(8, device="cpu"))).sum(-1).to(routed.dtype)
