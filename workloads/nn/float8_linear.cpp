#include "workloads/nn/float8_linear.hpp"

#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::nn {

using eager::Tensor;
using eager::TensorList;

namespace {

/// Float8TrainingTensor.
struct Float8 {
  Tensor data;
  Tensor scale;
  DType dtype = DType::bf16;  ///< of the tensor before
};

// float8_utils.py tensor_to_amax
Tensor greatest_magnitude_of(const Tensor& tensor) {
  const Tensor magnitudes = eager::pointwise("abs", {tensor}, tensor.dtype());
  return eager::max(magnitudes);
}

// The greatest number in float8 over the clamped one.
Tensor quotient_of(const Tensor& wide) {
  const Tensor clamped = eager::pointwise("clamp", {wide}, wide.dtype());
  const Tensor inverse = eager::pointwise("reciprocal", {clamped}, wide.dtype());
  return eager::pointwise("mul", {inverse}, wide.dtype());
}

// float8_utils.py amax_to_scale
Tensor scale_for(const Tensor& greatest) {
  const Tensor wide = eager::to_dtype(greatest, DType::fp64);
  const Tensor quotient = quotient_of(wide);
  return eager::to_dtype(quotient, DType::fp32);
}

Tensor dynamic_scale(const Tensor& tensor) {
  return scale_for(greatest_magnitude_of(tensor));
}

Tensor in_fp32_times(const Tensor& tensor, const Tensor& scale) {
  const Tensor wide = eager::to_dtype(tensor, DType::fp32);
  return eager::pointwise("mul", {wide, scale}, DType::fp32);
}

// to_fp8_saturated
Tensor saturated(const Tensor& scaled) {
  const Tensor clamped = eager::pointwise("clamp", {scaled}, scaled.dtype());
  return eager::to_dtype(clamped, DType::fp8);
}

// float8_scaling_utils.py hp_tensor_to_float8_dynamic
Float8 in_float8(const Tensor& tensor) {
  const eager::OpScope op(tensor.runtime(), "hp_tensor_to_float8_dynamic");
  Float8 result{.data = {}, .scale = dynamic_scale(tensor), .dtype = tensor.dtype()};
  const Tensor scaled = in_fp32_times(tensor, result.scale);
  result.data = saturated(scaled);
  return result;
}

Float8 transposed(const Float8& tensor) {
  return {eager::t(tensor.data), tensor.scale, tensor.dtype};
}

Float8 as_rows(const Float8& tensor) {
  return {eager::reshape(tensor.data, {-1, tensor.data.size(-1)}), tensor.scale, tensor.dtype};
}

bool is_row_major(const Tensor& matrix) {
  return matrix.strides()[0] > matrix.strides()[1] && matrix.strides()[1] == 1;
}

// float8_ops.py float8_mm: the kernel wants rows on the left and columns on the right.
Tensor float8_mm(const Float8& a, const Float8& b) {
  Tensor left = is_row_major(a.data) ? a.data : eager::contiguous(a.data);
  Tensor right = is_row_major(b.data) ? eager::t(eager::contiguous(eager::t(b.data))) : b.data;
  Tensor left_inverse = eager::pointwise("reciprocal", {a.scale}, DType::fp32);
  Tensor right_inverse = eager::pointwise("reciprocal", {b.scale}, DType::fp32);
  Tensor output = eager::scaled_mm(left, right, a.dtype);
  eager::end_of_frame(left_inverse, right_inverse, left, right);
  return output;
}

eager::Dims with_columns(const Tensor& like, std::int64_t columns) {
  eager::Dims sizes = like.sizes();
  sizes.back() = columns;
  return sizes;
}

Tensor forward(const Tensor& input, const Tensor& weight_t) {
  Float8 x = in_float8(input);
  Float8 weight = in_float8(weight_t);
  Float8 rows = as_rows(x);
  const Tensor product = float8_mm(rows, weight);
  eager::end_of_frame(x.data, x.scale, weight.data, weight.scale, rows.data, rows.scale);
  return eager::reshape(product, with_columns(input, weight_t.size(1)));
}

Tensor gradient_of_input(const Float8& grad, const Float8& weight_t, const Tensor& input) {
  return eager::reshape(float8_mm(grad, transposed(weight_t)), input.sizes());
}

Tensor gradient_of_weight(const Float8& grad, const Float8& rows) {
  return eager::t(float8_mm(transposed(grad), rows));
}

TensorList float8_backward(eager::Node& node, TensorList& grads) {
  Tensor input = node.unpack(0);
  Tensor weight_t = node.unpack(1);
  Tensor grad = eager::reshape(grads[0], {-1, grads[0].size(-1)});
  TensorList result(2);
  Float8 grad_rows = in_float8(grad);
  Float8 weight = in_float8(weight_t);
  result[0] = gradient_of_input(grad_rows, weight, input);
  Float8 grad_columns = in_float8(grad);
  Tensor input_rows = eager::reshape(input, {-1, input.size(-1)});
  Float8 rows = in_float8(input_rows);
  result[1] = gradient_of_weight(grad_columns, rows);
  eager::end_of_frame(input, weight_t, grad, grad_rows.data, grad_rows.scale, weight.data,
                      weight.scale);
  eager::end_of_frame(input_rows, grad_columns.data, grad_columns.scale, rows.data, rows.scale,
                      grads[0]);
  return result;
}

// matmul_with_hp_or_float8_args
Tensor float8_matmul(const Tensor& input, const Tensor& weight_t) {
  eager::Runtime& runtime = input.runtime();
  const auto node =
      eager::begin_node(runtime, "matmul_with_hp_or_float8_argsBackward", {input, weight_t});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    output = forward(input, weight_t);
  }
  if (node) {
    node->save(input);
    node->save(weight_t);
  }
  eager::finish_node(node, output, float8_backward);
  return output;
}

void convert_below(Module& module) {
  for (Module* child : module.children()) {
    if (auto* linear = dynamic_cast<Linear*>(child)) {
      linear->compute_in_float8();
    }
    convert_below(*child);
  }
}

}  // namespace

void convert_to_float8_training(Module& root) {
  for (Module* child : root.children()) {
    convert_below(*child);
  }
}

Tensor float8_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const auto& autocast = input.runtime().autocast;
  Tensor x = autocast.enabled ? eager::to_dtype(input, autocast.dtype) : input;
  Tensor output = float8_matmul(x, eager::t(weight));
  if (bias.defined()) {
    Tensor sum = eager::add(output, eager::to_dtype(bias, output.dtype()));
    output = std::move(sum);
  }
  eager::end_of_frame(x);
  return output;
}

}  // namespace highwater::nn
