#!/usr/bin/env python3
"""Records training with PyTorch's own offloading to host memory, as tools/python/measure does without.

  record_offload.py record --cases cases.json --out DIR [options of measure record]

Cases have the fields of measure and "offload":
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import wrappers  # noqa: E402
from measure.case_fields import DEFAULTS  # noqa: E402
from measure.command import record_main  # noqa: E402
from measure.process_group import world_of  # noqa: E402
from measure.training import Training  # noqa: E402


def saving_on_host(torch, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return function(*args, **kwargs)
    return call


class OffloadedTraining(Training):
    def start_group(self):
        import torch.testing._internal.distributed.fake_pg  # noqa: F401  (registers the backend "fake")
        self.torch.distributed.init_process_group("cpu:fake,cuda:nccl", rank=0, world_size=world_of(self.dist),
                                                  store=self.torch.distributed.HashStore())
        self.dist["backend"] = self.run.report["backend"] = "nccl"
        self.rec.mark("group")

    def wrap(self):
        runner = wrappers.wrap_model(self.torch, self.case, self.model, self.run.device,
                                     offloads_parameters=self.case["offload"] == "params")
        if self.case["offload"] == "activations":
            runner.forward = saving_on_host(self.torch, runner.forward)
            self.causal_loss = saving_on_host(self.torch, self.causal_loss)
        return runner

    def materialise(self):
        if self.case["offload"] != "params":
            super().materialise()
            return
        # Parameters belong on the host; buffers are used on the device.
        self.runner.to_empty(device="cpu")
        for part in self.runner.modules():
            for name, buffer in part.named_buffers(recurse=False):
                part._buffers[name] = buffer.to(self.run.device)
        wrappers.refill(self.torch, self.runner)


def train(run):
    OffloadedTraining(run)()
    log = os.environ.get("FAKE_CUDA_LOG")
    if log:
        with open(log) as lines:
            run.report["pinned_blocks"] = [int(line.split()[2]) for line in lines if line.startswith("cudaHostAlloc")]


if __name__ == "__main__":
    sys.exit(record_main(train, Path(__file__).resolve(), __doc__, {**DEFAULTS, "offload": "none"}))
