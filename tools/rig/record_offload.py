#!/usr/bin/env python3
"""Records training with PyTorch's own offloading to host memory, as record.py does without.

  record_offload.py --cases cases.json --out DIR [options of record.py]

Cases have the fields of record.py and "offload":
  "params"       fully_shard(offload_policy=CPUOffloadPolicy()), FullyShardedDataParallel(
                 cpu_offload=CPUOffload(offload_params=True))
  "activations"  torch.autograd.graph.save_on_cpu(pin_memory=True) around forward and loss

Collectives of tensors on the host, such as the sum of a norm, go to a backend that does nothing.
"pinned_blocks" of the result are the sizes that the pinned allocator asked the driver for, in order
(read from the log of a simulated device).
"""

import functools
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("RIG_RECORD", str(HERE)))
import record  # noqa: E402

record.DEFAULTS["offload"] = "none"


def start_group(torch, backend, world):
    import torch.testing._internal.distributed.fake_pg  # noqa: F401  (registers the backend "fake")
    torch.distributed.init_process_group("cpu:fake,cuda:nccl", rank=0, world_size=world,
                                         store=torch.distributed.HashStore())


def offload_parameters(torch):
    from torch.distributed import fsdp
    from torch.distributed._composable import fsdp as composable
    sharding = functools.partial(composable.fully_shard, offload_policy=composable.CPUOffloadPolicy())
    fsdp.fully_shard = composable.fully_shard = sharding
    fsdp.FullyShardedDataParallel = functools.partial(fsdp.FullyShardedDataParallel,
                                                      cpu_offload=fsdp.CPUOffload(offload_params=True))


def saving_on_host(torch, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return function(*args, **kwargs)
    return call


def empty_on_host(module, to_empty, device):
    """Parameters belong on the host; what computes with buffers is on the device."""
    to_empty(device="cpu")
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            part._buffers[name] = buffer.to(device)


def wrap_model(torch, case, *more):
    if case["offload"] == "params":
        offload_parameters(torch)
    runner = wrap_without(torch, case, *more)
    if case["offload"] == "params" and case["init"] == "meta":
        runner.to_empty = functools.partial(empty_on_host, runner, runner.to_empty)
    if case["offload"] == "activations":
        runner.forward = saving_on_host(torch, runner.forward)
        record.causal_loss = saving_on_host(torch, record.causal_loss)
    return runner


def train(torch, models, case, device, tiny, fake_device, rec, report):
    train_without(torch, models, case, device, tiny, fake_device, rec, report)
    log = os.environ.get("FAKE_CUDA_LOG")
    if log:
        with open(log) as lines:
            report["pinned_blocks"] = [int(line.split()[2]) for line in lines if line.startswith("cudaHostAlloc")]


if __name__ == "__main__":
    wrap_without, train_without = record.wrap_model, record.train
    record.wrap_model, record.train, record.start_group = wrap_model, train, start_group
    record.__file__ = str(Path(__file__).resolve())  # of the workers
    sys.exit(record.main())
