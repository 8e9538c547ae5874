"""One rank of a group whose other ranks do not exist.

NCCL is the fake library's: collectives return at once. What goes through the host needs more: the store that ranks
meet at, groups over gloo, and the collectives on Python objects. All of them behave as if every other rank did and
sent what this one does and sends.
"""
import functools
import inspect
import os


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
    _adapt_start(c10d, store_class)
    _make_groups_instead_of_splitting(c10d)
    _replace_gloo(c10d)
    c10d.monitored_barrier = lambda *args, **kwargs: None
    _pass_objects_on(c10d)
    _keep_lists_from_other_ranks(c10d)


def accept_partial_plan(planner):
    """torch.distributed.checkpoint's first rank checks that all shards together are whole. The other ranks' plans are
    copies of this one's: their shards are missing, and what is saved is this rank's share.

    planner: the module torch.distributed.checkpoint.default_planner, just imported.
    """
    validate = planner._validate_global_plan
    says_yes = inspect.signature(validate).return_annotation in (bool, "bool")  # later releases list what is wrong
    planner._validate_global_plan = functools.wraps(validate)(lambda *_, **__: True if says_yes else [])


def replace_store_servers(distributed):
    """A store that scripts make by themselves would wait for the other ranks, or for the one that serves it.

    distributed: the module torch.distributed, just imported.
    """
    if not hasattr(distributed, "TCPStore"):
        return
    absent = _absent_peers_store()

    class TCPStore(absent):
        def __init__(self, host_name="", port=0, *_, **__):
            super().__init__()
            self.host, self.port = host_name, port

    distributed.TCPStore = TCPStore


def _adapt_start(c10d, store_class):
    """init_process_group(store=...): whatever the store is, what it would get from other ranks never arrives.

    A group that is bound to a device (device_id=...; since 2.15 always) makes subgroups by ncclCommSplit, which is not
    told their size: the fake NCCL cannot know it. Unbound, a subgroup makes a communicator of its own. Neither takes
    memory from PyTorch's allocator.
    """
    initialise = c10d.init_process_group
    parameters = inspect.signature(initialise)
    stores = []  # see stand_in_for_peers

    @functools.wraps(initialise)
    def init_process_group(*args, **kwargs):
        call = parameters.bind(*args, **kwargs)
        if call.arguments.get("store") is not None:
            stores.append(store_class())
            call.arguments["store"] = stores[-1]
        initialise(*call.args, **call.kwargs)
        c10d.GroupMember.WORLD.bound_device_id = None

    c10d.init_process_group = init_process_group


def _make_groups_instead_of_splitting(c10d):
    """split_group (since 2.4) refuses a group that is not bound to a device; new_group makes the same groups."""
    if not hasattr(c10d, "split_group"):
        return

    @functools.wraps(c10d.split_group)
    def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, *_, **__):
        if not split_ranks:
            raise ValueError("split_ranks cannot be None or empty")
        parent = parent_pg or c10d.GroupMember.WORLD
        mine = next((ranks for ranks in split_ranks if c10d.get_rank(parent) in ranks), None)
        if mine is None:
            return c10d.GroupMember.NON_GROUP_MEMBER
        everywhere = [c10d.get_global_rank(parent, rank) for rank in mine]
        return c10d.new_group(everywhere, timeout=timeout, pg_options=pg_options, group_desc=group_desc)

    c10d.split_group = split_group


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
