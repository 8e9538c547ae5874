"""One rank of a group whose other ranks do not exist.

NCCL is the fake library's: collectives return at once. What goes through the host needs more: the store that ranks
meet at, groups over gloo, and the collectives on Python objects. All of them behave as if every other rank did and
sent what this one does and sends.
"""
import functools
import os

from . import libraries


def stand_in_for_peers(c10d, options):
    """c10d: the module torch.distributed.distributed_c10d, just imported."""
    if not hasattr(c10d, "ProcessGroup"):
        return  # a torch that was built without torch.distributed
    store_class = _absent_peers_store()
    stores = []  # C++ holds its half of a store only; the Python half must live as long

    def rendezvous(url, rank=-1, world_size=-1, **_):
        rank = int(os.environ.get("RANK", options.rank)) if rank < 0 else rank
        world = int(os.environ.get("WORLD_SIZE", 1)) if world_size < 0 else world_size
        stores.append(store_class())
        yield stores[-1], rank, world

    c10d.rendezvous = rendezvous
    _replace_gloo(c10d)
    c10d.monitored_barrier = lambda *args, **kwargs: None
    _pass_objects_on(c10d)
    _keep_lists_from_other_ranks(c10d)
    _announce_splits(c10d, options)


def _absent_peers_store():
    from torch._C._distributed_c10d import Store

    class AbsentPeersStore(Store):
        """Keeps what this rank sets; whatever only another rank would set is zeros, and nobody is waited for."""

        def __init__(self):
            super().__init__()
            self._values = {}

        def set(self, key, value):
            self._values[key] = value if isinstance(value, bytes) else str(value).encode()

        def get(self, key):
            return self._values.get(key, bytes(128))  # as long as an NCCL identifier

        def add(self, key, amount):
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            return total

        def compare_set(self, key, expected, desired):
            current = self._values.get(key, b"")
            if current == (expected if isinstance(expected, bytes) else expected.encode()):
                self.set(key, desired)
            return self._values.get(key, b"")

        def check(self, keys):
            return True

        def wait(self, keys, timeout=None):
            return None

        def delete_key(self, key):
            return self._values.pop(key, None) is not None

        def num_keys(self):
            return len(self._values)

        def set_timeout(self, timeout):
            return None

    return AbsentPeersStore


def _replace_gloo(c10d):
    """Gloo would wait for its peers. The fake group of torch's own tests answers every collective at once."""
    from torch._C._distributed_c10d import FakeProcessGroup
    if hasattr(FakeProcessGroup, "_create_internal"):  # since 2.9 there is no constructor
        make = FakeProcessGroup._create_internal
    else:
        class make(FakeProcessGroup):  # noqa: N801
            def _set_sequence_number_for_group(self):
                """c10d asks gloo for it; this group has none."""

    class Kind(type):
        def __instancecheck__(cls, group):
            return isinstance(group, FakeProcessGroup)

    class AbsentPeersGroup(metaclass=Kind):
        """A class of its own, because c10d asks isinstance(group, ProcessGroupGloo)."""

        def __new__(cls, store, rank, size, *_, **__):
            return make(rank, size)

    c10d.ProcessGroupGloo = AbsentPeersGroup


def _pass_objects_on(c10d):
    """Collectives on Python objects send bytes, which no fake group keeps. The tensors are made and sent as ever;
    what is then unpacked is the object that this rank sent last."""
    pack = c10d._object_to_tensor
    sent = []

    def object_to_tensor(thing, *args, **kwargs):
        sent[:] = [thing]
        return pack(thing, *args, **kwargs)

    c10d._object_to_tensor = object_to_tensor
    c10d._tensor_to_object = lambda *args, **kwargs: sent[0] if sent else None


def _keep_lists_from_other_ranks(c10d):
    """What only another rank knows stays what the caller put there."""
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


def _announce_splits(c10d, options):
    """NCCL splits communicators by colour; how many ranks have this one's colour no call says, and c10d knows."""

    def announced(call, rank, size):
        control = libraries.control(options)
        control.fakecuda_announce_split(rank, size)
        try:
            return call()
        finally:
            control.fakecuda_announce_split(0, 0)

    new_group = c10d._new_process_group_helper

    @functools.wraps(new_group)
    def _new_process_group_helper(group_size, group_rank, *args, **kwargs):
        return announced(lambda: new_group(group_size, group_rank, *args, **kwargs), group_rank, group_size)

    c10d._new_process_group_helper = _new_process_group_helper

    split = getattr(c10d.ProcessGroup, "split_group", None)  # since 2.8
    if split is None:
        return

    def split_group(self, ranks, *args, **kwargs):
        rank = ranks.index(self.rank()) if self.rank() in ranks else 0
        return announced(lambda: split(self, ranks, *args, **kwargs), rank, len(ranks))

    c10d.ProcessGroup.split_group = split_group
