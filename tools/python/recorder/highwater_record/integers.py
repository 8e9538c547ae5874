"""Operators whose results are integers, truth values or copies of such, as the dispatcher knows them.

Only what works on the elements is named: views share their storage, and composed operators (one_hot, diff, full,
clone, to, masked_fill) come down to these.
"""

_COMPARED = "eq ne lt le gt ge isnan isin logical_and logical_or logical_xor logical_not bitwise_and bitwise_or " \
            "bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift"
_CALCULATED = "add sub rsub mul floor_divide div ceil floor round trunc remainder neg abs sign clamp clamp_min clamp_max maximum minimum"
_REDUCED = "all any sum prod max min amax amin cumsum cumprod argmax argmin count_nonzero"
_ORDERED = "sort topk histc bincount searchsorted bucketize"
_PLACED = "cat where index index_select gather scatter scatter_add scatter_reduce flip roll tril triu repeat_interleave"
_IN_PLACE = "fill_ zero_ copy_ masked_fill_ masked_scatter_ _index_put_impl_ index_add_ index_copy_ index_fill_ " \
            "scatter_ scatter_add_ scatter_reduce_ tril_ triu_ add_ sub_ mul_ clamp_ clamp_min_ clamp_max_ eq_ ne_ " \
            "logical_and_ logical_or_ logical_not_ bitwise_and_ bitwise_or_ bitwise_not_ neg_ remainder_ floor_divide_"
_MADE = {"arange": ("start_out",)}


def operators(torch):
    """All overloads that this release has."""
    found = [getattr(getattr(torch.ops.aten, name), overload) for name, overloads in _MADE.items()
             for overload in overloads]
    for name in " ".join((_COMPARED, _CALCULATED, _REDUCED, _ORDERED, _PLACED, _IN_PLACE)).split():
        packet = getattr(torch.ops.aten, name, None)
        if packet is not None:
            overloads = (getattr(packet, overload) for overload in packet.overloads())
            found += [operator for operator in overloads if "Dimname" not in str(operator._schema)]
    return found


def gathers(torch):
    """Collectives that give each rank what all have sent, into a list of tensors or into one, which C++ calls, too."""
    found = (getattr(torch.ops.c10d, name, None) for name in ("allgather_", "_allgather_base_"))
    return [packet.default for packet in found if packet is not None]
