"""The gates of DeepSpeed-MoE for one and two experts a token choose by argmax, one expert after the other.

Elsewhere an argmax is no choice of an expert, so values.py asks whether a gate runs.
"""
import functools


class Gate:
    """The one that runs: how many experts a token gets, and how many choices have been made."""

    def __init__(self):
        self.wanted = 0
        self._made = 0

    def begin(self, wanted):
        self.wanted, self._made = wanted, 0

    def end(self):
        self.wanted = 0

    def next_choice(self):
        """The column of the router's choices that the next argmax stands for."""
        self._made += 1
        return min(self._made, self.wanted) - 1


running = Gate()


def tell_when_gates_run(module):
    """module: deepspeed.moe.sharded_moe."""
    forward = module.TopKGate.forward

    @functools.wraps(forward)
    def told(self, *args, **kwargs):
        running.begin(self.k)
        try:
            return forward(self, *args, **kwargs)
        finally:
            running.end()

    module.TopKGate.forward = told
