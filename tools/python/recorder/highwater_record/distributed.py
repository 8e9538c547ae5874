"""One rank of a group whose other ranks do not exist.

NCCL is the fake library's: collectives return at once. What goes through the host needs more: the store that ranks
meet at, groups over gloo, and the collectives on Python objects. All of them behave as if every other rank did and
sent what this one does and sends.
"""
import functools
import inspect
import os

from . import absent_store, object_collectives, splits


def stand_in_for_peers(c10d, options):
    """c10d: the module torch.distributed.distributed_c10d, just imported."""
    if not hasattr(c10d, "ProcessGroup"):
        return  # a torch that was built without torch.distributed
    store_class = absent_store.make_class()
    stores = []  # C++ holds only its half of a store; the Python half must live as long

    def rendezvous(url, rank=-1, world_size=-1, **_):
        rank = int(os.environ.get("RANK", options.rank)) if rank < 0 else rank
        world = int(os.environ.get("WORLD_SIZE", 1)) if world_size < 0 else world_size
        stores.append(store_class())
        yield stores[-1], rank, world

    c10d.rendezvous = rendezvous
    _adapt_start(c10d, store_class)
    _replace_gloo(c10d)
    c10d.monitored_barrier = lambda *args, **kwargs: None
    object_collectives.pass_on(c10d)
    object_collectives.keep_lists_from_other_ranks(c10d)
    splits.announce(c10d, options)


def accept_partial_plan(planner):
    """torch.distributed.checkpoint's first rank checks that all shards together are complete. The other ranks' plans are
    copies of this one's: their shards are missing, and what is saved is this rank's share. Nothing of it is left to
    other ranks because they hold it, too.

    planner: the module torch.distributed.checkpoint.default_planner, just imported.
    """
    validate = planner._validate_global_plan
    planner.dedup_save_plans = functools.partial(lambda dedup, plans, *_: dedup(plans, True), planner.dedup_save_plans)
    says_yes = inspect.signature(validate).return_annotation in (bool, "bool")  # later releases list the problems
    planner._validate_global_plan = functools.wraps(validate)(lambda *_, **__: True if says_yes else [])


def replace_store_servers(distributed):
    """A store that a script creates itself would wait for the other ranks, or for the one that serves it.

    distributed: the module torch.distributed, just imported.
    """
    if not hasattr(distributed, "TCPStore"):
        return
    absent = absent_store.make_class()

    class TCPStore(absent):
        def __init__(self, host_name="", port=0, *_, **__):
            super().__init__()
            self.host, self.port = host_name, port

    distributed.TCPStore = TCPStore


def _adapt_start(c10d, store_class):
    """init_process_group(store=...): whatever the store is, data from other ranks never arrives."""
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

    c10d.init_process_group = init_process_group


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
        """A separate class, because c10d checks isinstance(group, ProcessGroupGloo)."""

        def __new__(cls, store, rank, size, *_, **__):
            return make(rank, size)

    c10d.ProcessGroupGloo = AbsentPeersGroup
