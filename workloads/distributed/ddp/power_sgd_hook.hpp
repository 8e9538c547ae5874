// powerSGD_hook: gradients of matrices are reduced as products of two thin matrices.
//
// Mirrors torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py of PyTorch 2.6 without
// batch_tensors_with_same_shape: plain all-reduces up to start_powerSGD_iter, then per bucket the
// memory of P and Q, the error of the last iteration and a copy of the gradients.
#pragma once

#include <memory>

#include "workloads/distributed/ddp/comm_hook.hpp"

namespace highwater::dist {

/// `group` must outlive the hook.
std::unique_ptr<CommHook> make_power_sgd_hook(const PowerSgd& options, ProcessGroup& group);

}  // namespace highwater::dist
