#include "workloads/megatron/layers/fused_ops.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {
namespace {

using eager::Dims;
using eager::Node;
using eager::TensorList;

Tensor fresh(const char* op, const Tensor& like, const Dims& sizes, DType dtype) {
  const eager::OpScope scope(like.runtime(), op);
  return eager::empty(like.runtime(), sizes, dtype);
}

Tensor fresh_like(const char* op, const Tensor& like) {
  const eager::OpScope scope(like.runtime(), op);
  return eager::empty_like(like);
}

}  // namespace

Tensor bias_gelu(const Tensor& input, const Tensor& bias) {
  const auto node = eager::begin_node(input.runtime(), "GeLUFunctionBackward", {input, bias});
  Tensor output = fresh_like("bias_gelu", input);
  if (node) {
    node->save(input);
    node->save(bias);
  }
  eager::finish_node(node, output, [](Node& own, TensorList& grads) {
    const Tensor gradient = fresh_like("bias_gelu_back", own.unpack(0));
    grads[0].reset();                       // with the function's arguments
    return TensorList{gradient, gradient};  // the engine sums the bias's
  });
  return output;
}

Tensor swiglu(const Tensor& input) {
  const Tensor flat = eager::view(input, {-1, input.size(-1)});
  const auto node = eager::begin_node(input.runtime(), "SwiGLUFunctionBackward", {flat});
  Tensor output = fresh("swiglu", flat, {flat.size(0), flat.size(1) / 2}, flat.dtype());
  if (node) {
    node->save(flat);
  }
  eager::finish_node(node, output, [](Node& own, TensorList&) {
    return TensorList{fresh_like("swiglu_back", own.unpack(0))};
  });
  return eager::view(output, {input.size(0), input.size(1), -1});
}

Tensor weighted_swiglu(const Tensor& input, const Tensor& weights) {
  const auto node =
      eager::begin_node(input.runtime(), "WeightedSwiGLUFunctionBackward", {input, weights});
  Tensor output =
      fresh("weighted_swiglu", input, {input.size(0), input.size(1) / 2}, input.dtype());
  if (node) {
    node->save(input);
    node->save(weights);
  }
  eager::finish_node(node, output, [](Node& own, TensorList&) {
    Tensor of_input = fresh_like("weighted_swiglu_back", own.unpack(0));
    Tensor of_weights = fresh_like("weighted_swiglu_back", own.unpack(1));
    return TensorList{std::move(of_input), std::move(of_weights)};
  });
  return output;
}

Tensor bias_dropout_add(const Tensor& x, const Tensor& bias, const Tensor& residual, double p) {
  const auto node =
      eager::begin_node(x.runtime(), "bias_dropout_add_fused_trainBackward", {x, bias, residual});
  Tensor mask = p > 0 ? fresh("bias_dropout_add", x, x.sizes(), DType::boolean) : Tensor{};
  Tensor output = fresh_like("bias_dropout_add", x);
  if (node) {
    node->save(mask);
  }
  eager::finish_node(node, output, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    Tensor gradient = kept.defined() ? fresh_like("bias_dropout_add_back", grads[0]) : grads[0];
    Tensor of_bias = own.needs(1) ? fresh("bias_dropout_add_back", gradient, {gradient.size(-1)},
                                          gradient.dtype())
                                  : Tensor{};
    return TensorList{std::move(gradient), std::move(of_bias), grads[0]};
  });
  return output;
}

Tensor causal_softmax(const Tensor& scores) {
  const auto node =
      eager::begin_node(scores.runtime(), "ScaledUpperTriangMaskedSoftmaxBackward", {scores});
  Tensor output = fresh_like("scaled_upper_triang_masked_softmax", scores);
  eager::finish_node(node, output, [](Node&, TensorList& grads) { return TensorList{grads[0]}; });
  if (node) {
    node->save_output(output);
  }
  return output;
}

Tensor rotate(const Tensor& states, const Tensor& frequencies) {
  const auto node = eager::begin_node(states.runtime(), "FusedRoPEFuncBackward", {states});
  Tensor output = fresh("fused_rope_forward", states, states.sizes(), states.dtype());
  if (node) {
    node->save(frequencies);
  }
  eager::finish_node(node, output, [](Node&, TensorList& grads) {
    return TensorList{fresh("fused_rope_backward", grads[0], grads[0].sizes(), grads[0].dtype())};
  });
  return output;
}

Tensor rms_norm(const Tensor& input, const Tensor& weight) {
  const auto node = eager::begin_node(input.runtime(), "RMSNormBackward", {input, weight});
  Tensor output = fresh_like("rmsnorm_fwd", input);
  const Tensor deviations =
      fresh("rmsnorm_fwd", input, {input.numel() / input.size(-1)}, DType::fp32);
  if (node) {
    node->save(input);
    node->save(weight);
    node->save(deviations);
  }
  eager::finish_node(node, output, [](Node& own, TensorList&) {
    Tensor of_input = fresh_like("rmsnorm_bwd", own.unpack(0));
    Tensor of_weight = fresh_like("rmsnorm_bwd", own.unpack(1));
    return TensorList{std::move(of_input), std::move(of_weight)};
  });
  return output;
}

}  // namespace highwater::megatron
