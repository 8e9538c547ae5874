"""What an optimizer is: class, implementation, groups and the options that decide its memory."""

_DECIDING = ("momentum", "nesterov", "amsgrad", "centered", "capturable", "differentiable", "maximize", "beta1")


def described(optimizer):
    groups = [group for group in optimizer.param_groups if group["params"]]
    first = groups[0] if groups else {}
    kind = type(optimizer)
    return {"class": f"{kind.__module__.partition('.')[0]}.{kind.__name__}", "implementation": _implementation(first),
            "groups": len(groups), "parameters": sum(len(group["params"]) for group in groups),
            "options": {name: first[name] for name in _DECIDING
                        if name in first and isinstance(first[name], (bool, int, float)) and first[name]},
            **({"redundancy": _redundancy(optimizer)} if kind.__name__ == "ZeroRedundancyOptimizer" else {})}


def _redundancy(optimizer):
    """How a ZeroRedundancyOptimizer, whose own optimizer is another one here, shares what it steps."""
    return {"buckets": bool(optimizer.parameters_as_bucket_view), "overlaps": bool(getattr(optimizer, "_overlap_with_ddp", False))}


def _implementation(group):
    """What the script asked for; None: torch's own choice."""
    if group.get("fused"):
        return "fused"
    foreach = group.get("foreach")
    return None if foreach is None else "foreach" if foreach else "loop"
