"""Collectives on Python objects, whose bytes a fake group does not keep."""
import functools


def pass_on(c10d):
    """The tensors are created and sent as usual; what is then unpacked is the object that this rank sent last."""
    pack = c10d._object_to_tensor
    sent = []

    def object_to_tensor(thing, *args, **kwargs):
        sent[:] = [thing]
        return pack(thing, *args, **kwargs)

    c10d._object_to_tensor = object_to_tensor
    c10d._tensor_to_object = lambda *args, **kwargs: sent[0] if sent else None


def keep_lists_from_other_ranks(c10d):
    """What only another rank knows keeps the value that the caller put there."""
    broadcast = c10d.broadcast_object_list
    scatter = c10d.scatter_object_list

    @functools.wraps(broadcast)
    def broadcast_object_list(object_list, src=None, group=None, *args, **kwargs):
        if _rank_of_source(c10d, src, group, kwargs) == c10d.get_rank():
            broadcast(object_list, src, group, *args, **kwargs)

    @functools.wraps(scatter)
    def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, *args,
                            **kwargs):
        if _rank_of_source(c10d, src, group, kwargs) == c10d.get_rank():
            scatter_object_output_list[0] = scatter_object_input_list[c10d.get_rank(group)]

    c10d.broadcast_object_list = broadcast_object_list
    c10d.scatter_object_list = scatter_object_list


def _rank_of_source(c10d, source, group, named):
    """The global rank that sends; 2.6 added `group_src`, its rank within the group."""
    in_group = named.get("group_src")
    if in_group is not None and group is not None:
        return c10d.get_global_rank(group, in_group)
    return in_group if in_group is not None else source or 0
