#include "workloads/nn/quantized/eight_bit.hpp"

#include <memory>
#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::nn {
namespace {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

/// Rows in 8 bits, each with its scale.
struct QuantizedRows {
  Tensor codes;
  Tensor scales;
};

QuantizedRows empty_rows(const Tensor& rows) {
  QuantizedRows result;
  result.scales = eager::empty(rows.runtime(), {rows.size(0)}, DType::fp32);
  result.codes = eager::empty(rows.runtime(), rows.sizes(), DType::uint8);
  return result;
}

// A.abs() >= threshold, and whether there is any, which the host waits for.
void look_for_outliers(const Tensor& rows) {
  Tensor magnitudes = eager::pointwise("abs", {rows}, rows.dtype());
  const Tensor outliers = eager::compare("ge", {magnitudes});
  magnitudes.reset();
  const Tensor found = eager::reduce_plain("any", outliers, {}, eager::KeepDim::no, DType::boolean);
  rows.runtime().synchronize();
}

// int8_vectorwise_quant of the input, in fp16.
QuantizedRows quantize_rows(const Tensor& x) {
  const eager::OpScope op(x.runtime(), "bitsandbytes::int8_vectorwise_quant");
  const Tensor rows = eager::to_dtype(x, DType::fp16);
  QuantizedRows result = empty_rows(rows);
  look_for_outliers(rows);
  return result;
}

// int8_scaled_mm: the kernel that takes scales back writes fp16, whatever is wanted.
Tensor scaled_product(const QuantizedRows& x, const EightBitWeight& weight, DType dtype) {
  const eager::OpScope op(x.codes.runtime(), "bitsandbytes::int8_scaled_mm");
  const Tensor sums =
      eager::empty(x.codes.runtime(), {x.codes.size(0), weight.codes.size(0)}, DType::int32);
  const Tensor narrow = eager::empty_like(sums, DType::fp16);
  return eager::to_dtype(narrow, dtype);
}

TensorList matmul_8bit_backward(eager::Node& node, TensorList& grads, const EightBitWeight& weight,
                                const Tensor& x) {
  TensorList result(2);
  if (node.needs(1)) {
    result[1] = eager::sum(grads[0], {0}, eager::KeepDim::no);
  }
  if (node.needs(0)) {
    const Tensor grad = eager::contiguous(eager::reshape(grads[0], {-1, grads[0].size(-1)}));
    Tensor wide = dequantize_8bit(weight, x.dtype());
    result[0] = eager::view(eager::matmul(eager::to_dtype(grad, x.dtype()), wide), x.sizes());
  }
  return result;
}

Tensor forward(const Tensor& x, const EightBitWeight& weight) {
  const Tensor rows = eager::reshape(x, {-1, x.size(-1)});
  QuantizedRows quantized = quantize_rows(rows);
  Tensor result = scaled_product(quantized, weight, x.dtype());
  eager::end_of_frame(quantized.codes, quantized.scales);
  Dims sizes = x.sizes();
  sizes.back() = weight.codes.size(0);
  return eager::view(result, sizes);
}

}  // namespace

// The weight comes to the device, goes back to the host, and comes again in fp16.
EightBitWeight load_8bit_weight(const Tensor& weight) {
  const eager::OpScope op(weight.runtime(), "bitsandbytes::int8_vectorwise_quant");
  const Tensor loaded = eager::to_cuda(weight);
  const Tensor narrow = eager::empty(weight.runtime(), weight.sizes(), DType::fp16);
  QuantizedRows rows = empty_rows(narrow);
  weight.runtime().categorize(rows.scales, Category::parameter);
  return {std::move(rows.codes), std::move(rows.scales)};
}

// Scales, codes, and the number of their format, which is dropped.
EightBitWeight read_8bit_weight(const Tensor& weight) {
  eager::Runtime& runtime = weight.runtime();
  const eager::OpScope op(runtime, "Bnb8bitDeserialize");
  EightBitWeight packed;
  packed.scales = eager::empty(runtime, {weight.size(0)}, DType::fp32);
  packed.codes = eager::empty(runtime, weight.sizes(), DType::uint8);
  runtime.categorize(packed.scales, Category::parameter);
  const Tensor format = eager::empty(runtime, {}, DType::uint8);
  return packed;
}

Tensor dequantize_8bit(const EightBitWeight& weight, DType dtype) {
  Tensor wide = eager::empty_like(weight.codes, dtype);
  wide.runtime().categorize(wide, Category::weight_copy);
  const Tensor factors = eager::mul(weight.scales, 1.0 / 127.0);
  return wide;
}

// A * stats.view(-1, 1) * (1 / 127)
Tensor vectorwise_dequantized(const EightBitWeight& weight) {
  const eager::OpScope op(weight.codes.runtime(), "bitsandbytes::int8_vectorwise_dequant");
  const Tensor product = eager::empty_like(weight.codes, DType::fp32);
  Tensor wide = eager::empty_like(product);
  wide.runtime().categorize(wide, Category::weight_copy);
  return wide;
}

Tensor matmul_8bit(const Tensor& x, const EightBitWeight& weight, const Tensor& bias) {
  Runtime& runtime = x.runtime();
  const auto node = eager::begin_node(runtime, "MatMul8bitLtBackward", {x, bias});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    output = forward(x, weight);
  }
  if (node) {
    runtime.categorize_transient(x, Category::activation);
    node->context = std::make_shared<const Tensor>(eager::detach(x));  // in no saved tensor
  }
  eager::finish_node(node, output, [&weight](eager::Node& own, TensorList& grads) {
    const auto kept = std::static_pointer_cast<const Tensor>(own.context);
    return matmul_8bit_backward(own, grads, weight, *kept);
  });
  return output;
}

}  // namespace highwater::nn
