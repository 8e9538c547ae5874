"""Tells the fake NCCL what ncclCommSplit does not: the number of ranks of a new communicator."""
import functools

from . import libraries


def announce(c10d, options):
    """NCCL splits by colour; no call reveals how many ranks share this one's colour, but c10d knows."""

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
