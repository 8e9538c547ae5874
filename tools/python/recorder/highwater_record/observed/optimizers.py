"""What an optimizer is: class, implementation, groups and the options that decide its memory."""

_DECIDING = ("momentum", "nesterov", "amsgrad", "centered", "capturable", "differentiable", "maximize", "beta1", "weight_decay")


def described(optimizer):
    groups = [group for group in optimizer.param_groups if group["params"]]
    first = groups[0] if groups else {}
    kind = type(optimizer)
    return {"class": f"{kind.__module__.partition('.')[0]}.{_named(optimizer)}", "implementation": _implementation(first),
            "groups": len(groups), "parameters": sum(len(group["params"]) for group in groups),
            "options": {name: first[name] for name in _DECIDING
                        if name in first and isinstance(first[name], (bool, int, float)) and first[name]},
            **({"redundancy": _redundancy(optimizer)} if kind.__name__ == "ZeroRedundancyOptimizer" else {})}


def _named(optimizer):
    """Its class; of bitsandbytes, whose classes have arguments for it (Trainer gives them), the one that says the same."""
    name = type(optimizer).__name__
    if not type(optimizer).__module__.startswith("bitsandbytes."):
        return name
    is_narrow = getattr(getattr(optimizer, "args", None), "optim_bits", 32) == 8 and not name.endswith("8bit")
    is_paged = bool(getattr(optimizer, "is_paged", False)) and not name.startswith("Paged")
    return f"{'Paged' if is_paged else ''}{name}{'8bit' if is_narrow else ''}"


def _redundancy(optimizer):
    """How a ZeroRedundancyOptimizer, whose own optimizer is another one here, shares what it steps."""
    return {"buckets": bool(optimizer.parameters_as_bucket_view), "overlaps": bool(getattr(optimizer, "_overlap_with_ddp", False))}


def _implementation(group):
    """What the script asked for; None: torch's own choice."""
    if group.get("fused"):
        return "fused"
    foreach = group.get("foreach")
    return None if foreach is None else "foreach" if foreach else "loop"
