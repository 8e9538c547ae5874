// The bias of a quantised layer, which its forward converts for good (bitsandbytes 0.50.2,
// nn/modules.py: bias.data = bias.data.to(x.dtype)).
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// Does nothing without a bias, and from the second call on.
inline void convert_bias(const Tensor& bias, DType dtype) {
  if (bias.defined() && bias.dtype() != dtype) {
    convert_tensor(bias, dtype, Category::parameter);
  }
}

}  // namespace highwater::nn
