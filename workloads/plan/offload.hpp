// Which parts of a plan live in host memory: what --offload means for PyTorch's own wrappers.
//
// CPUOffloadPolicy (FSDP2) and CPUOffload(offload_params=True) (FSDP1) keep parameters, gradients
// and optimizer states on the host together; none of them can be offloaded without the others.
// DeepSpeed's offload_optimizer and offload_param are read by its own code (dist/deepspeed).
#pragma once

#include "workloads/plan/parallelism.hpp"

namespace highwater {

/// The plan keeps parameters on the host.
constexpr bool offloads_params(const Parallelism& p) {
  return p.offload == Offload::params || p.offload == Offload::both;
}

/// DeepSpeed keeps optimizer states, fp32 copies and gradients on the host.
constexpr bool offloads_optimizer(const Parallelism& p) {
  return p.offload == Offload::optimizer || p.offload == Offload::both;
}

/// FSDP keeps shards, gradients and states on the host.
constexpr bool fsdp_offloads(const Parallelism& p) {
  return (is_fsdp1(p) || is_fsdp2(p)) && offloads_params(p);
}

/// torch.autograd.graph.save_on_cpu(pin_memory=True) is around forward and loss.
constexpr bool saves_on_cpu(const Parallelism& p) {
  return p.offload == Offload::activations;
}

}  // namespace highwater
