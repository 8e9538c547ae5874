#include "workloads/nn/quantized/torchao_int8.hpp"

#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::nn {
namespace {

using eager::Dims;
using eager::Tensor;

/// Scale and zero point of each row.
struct RowParameters {
  Tensor scales;
  Tensor zero_points;
};

// torch.min(rows, torch.zeros_like(rows)), and the same with max.
Tensor clipped_at_zero(const char* op, const Tensor& rows) {
  const Tensor zeros = eager::empty_like(rows);
  return eager::pointwise(op, {rows, zeros}, rows.dtype());
}

Tensor greatest_magnitude(const Tensor& least, const Tensor& greatest) {
  const Tensor negated = eager::pointwise("neg", {least}, least.dtype());
  return eager::pointwise("maximum", {negated, greatest}, least.dtype());
}

// choose_qparams_affine, symmetric, in the weight's type until the end.
RowParameters choose_parameters(const Tensor& weight) {
  Tensor least = eager::reduce_plain("amin", weight, {1}, eager::KeepDim::yes, weight.dtype());
  Tensor greatest = eager::reduce_plain("amax", weight, {1}, eager::KeepDim::yes, weight.dtype());
  Tensor least_negative = clipped_at_zero("minimum", least);
  Tensor magnitude = clipped_at_zero("maximum", greatest);
  Tensor replaced = greatest_magnitude(least_negative, magnitude);
  magnitude = std::move(replaced);
  Tensor unclamped = eager::pointwise("div", {magnitude}, magnitude.dtype());
  Tensor zero_point = eager::empty_like(unclamped);
  Tensor scale = eager::pointwise("clamp", {unclamped}, unclamped.dtype());
  unclamped.reset();
  RowParameters result;
  result.scales = eager::to_dtype(scale, DType::fp32);
  result.zero_points = eager::empty_like(zero_point, DType::uint8);
  eager::end_of_frame(least, greatest, least_negative, magnitude, scale, zero_point);
  return result;
}

// 1.0 / scale: reciprocal() * 1.0
Tensor inverted(const Tensor& scales) {
  const Tensor reciprocal = eager::pointwise("reciprocal", {scales}, scales.dtype());
  return eager::pointwise("mul", {reciprocal}, scales.dtype());
}

Tensor times_inverse(const Tensor& weight, const Tensor& scales) {
  const Tensor inverse = inverted(scales);
  return eager::pointwise("mul", {weight, inverse}, eager::promote(weight, scales));
}

Tensor rounded(const Tensor& weight, const Tensor& scales) {
  const Tensor scaled = times_inverse(weight, scales);
  return eager::pointwise("round", {scaled}, scaled.dtype());
}

Tensor shifted(const Tensor& weight, const RowParameters& rows) {
  const Tensor numbers = rounded(weight, rows.scales);
  return eager::pointwise("add", {numbers, rows.zero_points}, numbers.dtype());
}

Tensor clamped(const Tensor& weight, const RowParameters& rows) {
  const Tensor numbers = shifted(weight, rows);
  return eager::pointwise("clamp", {numbers}, numbers.dtype());
}

// quantize_affine
Tensor codes_of(const Tensor& weight, const RowParameters& rows) {
  const Tensor numbers = clamped(weight, rows);
  return eager::empty_like(numbers, DType::uint8);
}

Tensor widened(const Int8Weight& weight, DType dtype) {
  Tensor wide = eager::to_dtype(eager::t(weight.codes), dtype);
  wide.runtime().categorize_transient(wide, Category::weight_copy);
  return wide;
}

// dequantize_affine, of a weight in 16 bits: the scales are in 32.
Tensor without_zero_points(const Int8Weight& weight) {
  const Tensor numbers = eager::to_dtype(weight.codes, weight.dtype);
  return eager::sub(numbers, eager::to_dtype(weight.zero_points, weight.dtype));
}

Tensor scaled(const Int8Weight& weight) {
  const Tensor numbers = without_zero_points(weight);
  return eager::mul(numbers, weight.scales);
}

}  // namespace

Int8Weight quantize_int8(const Tensor& weight) {
  const eager::NoGrad no_grad(weight.runtime());
  const eager::OpScope op(weight.runtime(), "Int8Tensor.from_hp");
  RowParameters rows = choose_parameters(weight);
  Int8Weight packed;
  packed.dtype = weight.dtype();
  packed.codes = codes_of(weight, rows);
  packed.scales = std::move(rows.scales);
  packed.zero_points = std::move(rows.zero_points);
  for (const Tensor* part : {&packed.scales, &packed.zero_points}) {
    part->runtime().categorize(*part, Category::parameter);
  }
  return packed;
}

// The function of aten.linear: mm(rows, qdata.t().to(dtype)) * scale + bias.
Tensor LinearInt8WeightOnly::apply(const Tensor& x, const Tensor& bias) const {
  Tensor product = eager::mm(eager::reshape(x, {-1, x.size(-1)}), widened(weight_, x.dtype()));
  Tensor y =
      eager::mul(product, eager::reshape(eager::to_dtype(weight_.scales, product.dtype()), {-1}));
  Dims sizes = x.sizes();
  sizes.back() = weight_.codes.size(0);
  y = eager::reshape(y, sizes);
  if (bias.defined()) {
    y = eager::add_to_view_(y, bias);
  }
  eager::end_of_frame(product);
  return y;
}

Tensor LinearInt8WeightOnly::dequantized() const {
  const eager::OpScope op(weight_.codes.runtime(), "Int8Tensor.dequantize");
  Tensor wide = eager::to_dtype(scaled(weight_), weight_.dtype);
  wide.runtime().categorize(wide, Category::weight_copy);
  return wide;
}

}  // namespace highwater::nn
