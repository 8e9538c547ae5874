// torchao's float8 training with a dynamic scale for each whole tensor: the linear layers' three
// products run in 8 bits, and what is kept for the backward pass stays as it was (torchao 0.18,
// float8/float8_linear.py; config.py Float8LinearRecipeName.TENSORWISE).
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// convert_to_float8_training(root) of all linear layers but the output embedding, a child of the
/// model itself.
void convert_to_float8_training(Module& root);

/// Float8Linear.forward; `bias` may be undefined.
Tensor float8_linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

}  // namespace highwater::nn
