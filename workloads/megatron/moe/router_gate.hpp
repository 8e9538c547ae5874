// The product that makes a router's logits (RouterGatingLinearFunction), by PyTorch or by
// Transformer Engine. Source: Megatron-Core 0.16.1, core/transformer/moe/moe_utils.py.
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// torch.mm of operands in the router's type: [s, b, experts].
eager::Tensor gate_of_torch(const eager::Tensor& input, const eager::Tensor& weight, DType dtype);

/// general_gemm, whose result is fp32. `has_workspace` says whether its workspace, one for all
/// routers, was made.
eager::Tensor gate_of_engine(const eager::Tensor& input, const eager::Tensor& weight,
                             bool& has_workspace);

}  // namespace highwater::megatron
