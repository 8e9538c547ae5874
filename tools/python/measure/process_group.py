"""Rank 0 of a group whose other ranks do not exist."""

import time

WATCHDOG_SECONDS = 0.5  # several rounds of NCCL's watchdog (ProcessGroupNCCL.cpp: every 0.1 s)


def start_group(torch, backend, world, rank=0):
    """Backend "nccl": on a simulated device only. "fake": collectives that do nothing, on any device."""
    if backend == "nccl":
        torch.distributed.init_process_group("nccl", rank=rank, world_size=world, store=torch.distributed.HashStore())
    else:
        from torch.testing._internal.distributed.fake_pg import FakeStore
        torch.distributed.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())


def default_backend(fake_device):
    """A simulated device has an NCCL that never waits; a real one waits for the missing ranks."""
    return "nccl" if fake_device else "fake"


def world_of(dist):
    """Number of ranks of a case's "dist"."""
    return dist.get("world") or dist["dp"] * dist["tp"]


def let_watchdog_run(torch):
    """Since 2.8 NCCL's watchdog lets go of finished collectives' tensors, as DDP's old buckets. A step on a GPU takes
    longer than its rounds; one on a simulated device does not.
    """
    if torch.distributed.is_initialized() and torch.distributed.get_backend() == "nccl":
        time.sleep(WATCHDOG_SECONDS)
