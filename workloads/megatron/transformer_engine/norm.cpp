#include "workloads/megatron/transformer_engine/norm.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {

using eager::Tensor;

namespace {

std::int64_t rows_of(const Tensor& input) {
  return input.numel() / input.size(-1);
}

Tensor of_rows(const Tensor& input) {
  return eager::empty(input.runtime(), {rows_of(input)}, DType::fp32);
}

}  // namespace

// A workspace without bytes has one, since none would ask for its size.
Normalized normalize(const Tensor& input, TeNormKind kind) {
  const eager::OpScope op(input.runtime(),
                          kind == TeNormKind::rms ? "rmsnorm_fwd" : "layernorm_fwd");
  Normalized result;
  if (kind == TeNormKind::layer) {
    result.mean = of_rows(input);
  }
  result.deviation = of_rows(input);
  result.output = eager::empty(input.runtime(), input.sizes(), input.dtype());
  const Tensor workspace = eager::empty(input.runtime(), {1}, DType::uint8);
  return result;
}

// Only DelayedScaling's scale is known before the output is: its kernel writes codes at once,
// others read the output in 16 bits.
NormalizedTo8Bits normalize_to_8_bits(const Tensor& input, TeNormKind kind, Fp8Recipe recipe) {
  const eager::OpScope op(input.runtime(),
                          kind == TeNormKind::rms ? "rmsnorm_fwd" : "layernorm_fwd");
  NormalizedTo8Bits result;
  if (kind == TeNormKind::layer) {
    result.mean = of_rows(input);
  }
  result.deviation = of_rows(input);
  result.output = quantized_norm(input, recipe);
  const Tensor plain = recipe == Fp8Recipe::delayed
                           ? Tensor{}
                           : eager::empty(input.runtime(), input.sizes(), input.dtype());
  const Tensor workspace = eager::empty(input.runtime(), {1}, DType::uint8);
  return result;
}

NormGradients normalize_backward(const Tensor& input, TeNormKind kind) {
  eager::Runtime& runtime = input.runtime();
  const eager::OpScope op(runtime, kind == TeNormKind::rms ? "rmsnorm_bwd" : "layernorm_bwd");
  NormGradients result;
  result.input = eager::empty(runtime, input.sizes(), input.dtype());
  result.weight = eager::empty(runtime, {input.size(-1)}, input.dtype());
  if (kind == TeNormKind::layer) {
    result.bias = eager::empty(runtime, {input.size(-1)}, input.dtype());
  }
  const std::int64_t scratch = te_norm_backward_scratch(
      runtime.gpu, {.kind = kind, .rows = rows_of(input), .columns = input.size(-1)});
  const Tensor workspace = eager::empty(runtime, {scratch}, DType::uint8);
  return result;
}

void clear_data(const Tensor& tensor) {
  if (tensor.defined()) {
    tensor.runtime().free_block(*tensor->storage);
  }
}

Tensor engine_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  eager::Runtime& runtime = input.runtime();
  const TeNormKind kind = bias.defined() ? TeNormKind::layer : TeNormKind::rms;
  const auto node =
      eager::begin_node(runtime, "_OperationFuserAutogradFunctionBackward", {input, weight, bias});
  Normalized result;
  Tensor laid_out;
  {
    const eager::NoGrad no_grad(runtime);
    laid_out = eager::contiguous(input);
    result = normalize(laid_out, kind);
  }
  if (node) {
    node->save(laid_out);
    node->save(result.mean);
    node->save(result.deviation);
  }
  eager::finish_node(node, result.output, [kind](eager::Node& own, eager::TensorList& /*grads*/) {
    NormGradients gradients = normalize_backward(own.unpack(0), kind);
    gradients.input->takes_no_sum = true;  // as recordings show; its cause was not found
    clear_data(own.unpack(1));
    clear_data(own.unpack(2));
    return eager::TensorList{std::move(gradients.input), std::move(gradients.weight),
                             std::move(gradients.bias)};
  });
  return result.output;
}

}  // namespace highwater::megatron
