// clip_grad_norm_ over gradients that are DTensors, sharded over a group.
#pragma once

#include <span>

#include "workloads/dist/process_group.hpp"

namespace highwater::dist {

/// Each rank has the norm of its shards; the total is made where it is first needed in full, by
/// the reciprocal of DTensor's partial norm (torch/distributed/tensor/_ops/_math_ops.py:
/// _NormPartial). `parameters` are shards.
void clip_grad_norm_of_shards(ProcessGroup& group, std::span<const eager::Tensor> parameters);

}  // namespace highwater::dist
