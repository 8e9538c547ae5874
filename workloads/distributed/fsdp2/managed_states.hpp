// The parameters and buffers that a unit of fully_shard manages.
//
// Source: PyTorch 2.6, torch/distributed/fsdp/_fully_shard/_fsdp_init.py.
#pragma once

#include <unordered_set>
#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::dist {

/// What a unit manages.
struct ManagedStates {
  std::vector<eager::Tensor> params;
  std::vector<eager::Tensor> buffers;
};

/// Adds those of `module` that are not in `seen` yet, in both.
void collect_states(nn::Module& module, std::unordered_set<const void*>& seen,
                    ManagedStates& states);

/// What is on the host comes to the GPU; what is on meta stays there.
void move_states_to_device(const ManagedStates& states);

}  // namespace highwater::dist
