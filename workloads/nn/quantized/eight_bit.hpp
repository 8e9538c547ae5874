// 8-bit weights with a scale for each output, and LLM.int8()'s product with them (bitsandbytes
// 0.50.2: autograd/_functions.py MatMul8bitLt, backends/cuda/ops.py, backends/default/ops.py).
//
// Inputs are quantised row by row. Columns with outliers would be multiplied in 16 bits; a plan
// knows no values, and has none.
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::nn {

struct EightBitWeight {
  eager::Tensor codes;   ///< CB, [out, in]
  eager::Tensor scales;  ///< SCB, [out]
};

/// Int8Params of a weight on the host, moved to the device.
EightBitWeight load_8bit_weight(const eager::Tensor& weight);

/// A weight whose codes a checkpoint holds, read from it: `weight` as it was before
/// (integrations/bitsandbytes.py Bnb8bitDeserialize).
EightBitWeight read_8bit_weight(const eager::Tensor& weight);

/// The weight in `dtype`: CB.to(dtype).mul_(SCB...).
eager::Tensor dequantize_8bit(const EightBitWeight& weight, DType dtype);

/// functional.py int8_vectorwise_dequant: the weight in fp32.
eager::Tensor vectorwise_dequantized(const EightBitWeight& weight);

/// MatMul8bitLt. `weight` must outlive the graph; `bias` may be undefined.
eager::Tensor matmul_8bit(const eager::Tensor& x, const EightBitWeight& weight,
                          const eager::Tensor& bias);

}  // namespace highwater::nn
