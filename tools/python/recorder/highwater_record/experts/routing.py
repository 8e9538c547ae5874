"""Which experts a router chooses whose scores nobody knows: --moe-load even|busiest:X|zipf:S|SHARE,SHARE,..."""


class Router:
    """even: all experts in turns; busiest:X: the first gets X times the mean; zipf:S: expert i gets 1 / i^S; else the share of each."""

    def __init__(self, torch, load):
        self._torch = torch
        self._load = load

    def choices(self, shape, wanted):
        """Experts of each token, [..., wanted], for scores of this shape, [..., experts]."""
        experts, tokens = shape[-1], shape[:-1].numel()
        shares = self.shares(experts)
        chosen = self._in_turns(tokens, experts, wanted) if shares is None else self._by_share(tokens, wanted, shares)
        return chosen.view(*shape[:-1], wanted)

    def shares(self, experts):
        """Of all choices; None if they are even, or given for another number of experts."""
        if self._load in ("", "even"):
            return None
        if self._load.startswith("busiest:"):
            busiest = min(float(self._load.partition(":")[2]) / experts, 1.0)
            return [busiest] + [(1 - busiest) / max(experts - 1, 1)] * (experts - 1)
        if self._load.startswith("zipf:"):
            exponent = float(self._load.partition(":")[2])
            return [expert ** -exponent for expert in range(1, experts + 1)]
        shares = [float(part) for part in self._load.split(",")]
        return shares if len(shares) == experts else None

    def _in_turns(self, tokens, experts, wanted):
        return (self._torch.arange(tokens * wanted, device="cpu") % experts).view(tokens, wanted)

    def _by_share(self, tokens, wanted, shares):
        """Choices lie in a row, one expert after another, and a token takes every `tokens`-th of them: an expert chosen
        at most once by each token has no two at that distance."""
        torch = self._torch
        counts = torch.tensor(counts_of(tokens, wanted, shares), device="cpu")
        row = torch.repeat_interleave(torch.arange(len(shares), device="cpu"), counts)
        return row.view(wanted, tokens).t()


def counts_of(tokens, wanted, shares):
    """How often each expert is chosen: tokens * wanted times in all, each at most once by a token."""
    left, left_shares = tokens * wanted, sum(shares)
    counts = [0] * len(shares)
    for expert in sorted(range(len(shares)), key=lambda expert: -shares[expert]):  # what one cannot take, others do
        share = shares[expert] / left_shares if left_shares > 0 else 0
        counts[expert] = min(tokens, round(left * share))
        left -= counts[expert]
        left_shares -= shares[expert]
    for expert, count in enumerate(counts):
        counts[expert] += min(left, tokens - count)
        left -= counts[expert] - count
    return counts
