"""Sequences of a plan, as long as its model takes them."""
from .plan import Refused


def lengths(plan):
    return plan["seq"] if isinstance(plan["seq"], list) else [plan["seq"]]


def fitting(plan, model):
    """The lengths of the plan; one that nobody asked for is lowered to what the model has positions for. @raises Refused"""
    asked = lengths(plan)
    if model.longest is None or max(asked) <= model.longest:
        return asked
    if plan.is_changed("seq"):
        raise Refused(f"--seq {max(asked)}: {model.name} has positions for {model.longest} tokens; use at most "
                      f"{model.longest}")
    return [model.longest]


def note(plan, model):
    """What a reader should know that is no choice of the plan's: what the model is fed, and a lowered length."""
    parts = [f"{model.name} trained on {model.fed}"] if model.fed else []
    if model.longest is not None and max(lengths(plan)) > model.longest:
        parts.append(f"sequences of {model.longest} tokens, for which {model.name} has positions")
    if model.targets and plan.get("target_seq") is None:
        parts.append(f"{'the second texts are as long as the first' if model.counted else 'labels are as long as the inputs'} (--target-seq)")
    return "; ".join(parts)
