#include "workloads/nn/quantized/linear_4bit.hpp"

#include "workloads/nn/quantized/converted_bias.hpp"

namespace highwater::nn {

Tensor Linear4Bit::apply(const Tensor& x, const Tensor& bias) const {
  Tensor input = eager::to_dtype(x, compute_dtype_);
  convert_bias(bias, compute_dtype_);
  Tensor product = matmul_4bit(input, weight_, bias);
  Tensor result = eager::to_dtype(product, x.dtype());
  eager::end_of_frame(product, input);
  return result;
}

Tensor Linear4Bit::dequantized() const {
  return dequantize_4bit(weight_.state);
}

}  // namespace highwater::nn
