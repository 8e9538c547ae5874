// torch.nn.utils.clip_grad_norm_ (torch/nn/utils/clip_grad.py, PyTorch 2.6), foreach as by default.
#pragma once

#include <functional>
#include <span>

#include "workloads/eager/tensor.hpp"

namespace highwater {

/// Turns this rank's part of a norm into the whole norm if gradients are sharded.
using FullValue = std::function<eager::Tensor(const eager::Tensor& partial)>;

/// Clips the gradients of `parameters` (those that have one) and drops the returned norm.
void clip_grad_norm(eager::Runtime& runtime, std::span<const eager::Tensor> parameters,
                    const FullValue& full_value = {});

}  // namespace highwater
