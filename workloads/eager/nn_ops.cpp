// Normalisation, softmax, dropout, embedding and loss: one aten kernel each (PyTorch 2.6).
#include <algorithm>
#include <initializer_list>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/run_script.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/embedding.hpp"

namespace highwater::eager {

namespace {

// The gradients that are wanted, each like its input.
TensorList gradients_like(const Node& node, std::initializer_list<Tensor> inputs) {
  TensorList out(inputs.size());
  std::size_t index = 0;
  for (const Tensor& input : inputs) {
    if (node.needs(index)) {
      out[index] = empty(*node.runtime, input.sizes(), input.dtype());
    }
    ++index;
  }
  return out;
}

// native_layer_norm_backward: dX, then the gradients of weight and bias.
TensorList layer_norm_backward(Node& node, TensorList& grads) {
  const Tensor bias = node.unpack(0);
  const Tensor input = node.unpack(1);
  const Tensor weight = node.unpack(2);
  const Tensor mean = node.unpack(3);
  const Tensor rstd = node.unpack(4);
  OpScope op(*node.runtime, "native_layer_norm_backward", 2);
  const Tensor grad = contiguous(grads[0]);
  const Tensor x = contiguous(input);
  return gradients_like(node, {x, weight, bias});
}

Tensor layer_norm_kernel(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  Runtime& runtime = input.runtime();
  const auto node = begin_node(runtime, "NativeLayerNormBackward0", {input, weight, bias});
  if (node) {
    node->save(bias);
    node->save(input);
    node->save(weight);
  }
  OpScope op(runtime, "native_layer_norm");
  const Tensor x = contiguous(input);
  Tensor result = empty(runtime, x.sizes(), x.dtype());
  Dims rows(input.sizes().begin(),
            input.sizes().end() - static_cast<std::ptrdiff_t>(weight.defined() ? weight.dim() : 1));
  rows.push_back(1);
  const DType statistic = is_low_precision(x.dtype()) ? DType::fp32 : x.dtype();
  Tensor mean = empty(runtime, rows, statistic);
  Tensor rstd = empty(runtime, rows, statistic);
  finish_node(node, result, layer_norm_backward);
  if (node) {
    node->save_output(mean);
    node->save_output(rstd);
  }
  end_of_frame(mean, rstd);
  return result;
}

// _fused_rms_norm_backward: dX, then the gradient of the weight.
TensorList rms_norm_backward(Node& node, TensorList& grads) {
  const Tensor input = node.unpack(0);
  const Tensor weight = node.unpack(1);
  const Tensor rstd = node.unpack(2);
  OpScope op(*node.runtime, "_fused_rms_norm_backward", 2);
  const Tensor grad = contiguous(grads[0]);
  const Tensor x = contiguous(input);
  return gradients_like(node, {x, weight});
}

// rms_norm_composite in ATen/native/layer_norm.cpp: computed in fp32. The mean's sum is changed in
// place.
Tensor composite_rms_norm(const Tensor& input, const Tensor& weight) {
  const Tensor wide =
      to_dtype(input, is_low_precision(input.dtype()) ? DType::fp32 : input.dtype());
  Tensor scale;
  {
    Tensor square = pow(wide, 2.0);
    Tensor variance = mean(square, -1, KeepDim::yes);
    scale = rsqrt(variance);
    end_of_frame(variance, square);
  }
  const Tensor normed = mul(wide, scale);
  return type_as(weight.defined() ? mul(normed, weight) : normed, input);
}

// _softmax and _log_softmax: fp16 to fp32 happens inside the kernel, bf16 is converted before.
Tensor softmax_kernel(const char* op, const char* name, BackwardFunction backward,
                      const Tensor& self, DType result_dtype) {
  const auto node = begin_node(self.runtime(), name, {self});
  OpScope scope(self.runtime(), op);
  Tensor result = empty(self.runtime(), self.sizes(), result_dtype);
  const Tensor input = contiguous(self);
  finish_node(node, result, std::move(backward));
  if (node) {
    node->save_output(result);
  }
  return result;
}

Tensor softmax_like(const char* op, const char* name, BackwardFunction backward,
                    const Tensor& self_in, std::optional<DType> dtype) {
  const AutocastOp cast(self_in.runtime());
  if (cast.active() && !dtype && is_floating_point(self_in.dtype())) {
    dtype = DType::fp32;
  }
  const bool fused = self_in.dtype() == DType::fp16 && dtype == DType::fp32;
  const Tensor self = dtype && !fused ? to_dtype(self_in, *dtype) : self_in;
  return softmax_kernel(op, name, std::move(backward), self, dtype.value_or(self.dtype()));
}

// The gradient has the type of the input, which differs from the result's if fp16 was widened.
BackwardFunction softmax_backward_to(DType input) {
  return [input](Node& node, TensorList& grads) {
    const Tensor result = node.unpack(0);
    OpScope op(*node.runtime, "_softmax_backward_data");
    TensorList out{empty(*node.runtime, result.sizes(), input)};
    const Tensor product = pointwise("mul", {grads[0], result}, result.dtype());
    return out;
  };
}

BackwardFunction log_softmax_backward_to(DType input) {
  return [input](Node& node, TensorList& grads) {
    const Tensor result = node.unpack(0);
    OpScope op(*node.runtime, "_log_softmax_backward_data");
    TensorList out{empty(*node.runtime, result.sizes(), input)};
    const Tensor grad = contiguous(grads[0]);
    return out;
  };
}

// Autocast requires fp32 unless the caller names a type, as cross_entropy does.
DType softmax_input_type(const Tensor& self, std::optional<DType> dtype) {
  const bool widens = dtype ? *dtype == DType::fp32 : self.runtime().autocast.enabled;
  if (self.dtype() == DType::fp16 && widens) {
    return DType::fp16;
  }
  return widens ? DType::fp32 : dtype.value_or(self.dtype());
}

Tensor nll_loss(const Tensor& self_in, const Tensor& target) {
  Runtime& runtime = self_in.runtime();
  const AutocastOp cast(runtime);
  const Tensor self = cast.to_fp32(self_in);
  const auto node = begin_node(runtime, "NllLossBackward0", {self});
  if (node) {
    node->save(self);
    node->save(target);
  }
  OpScope op(runtime, "nll_loss_forward");
  Tensor output = empty(runtime, {}, self.dtype());
  const Tensor total_weight = empty(runtime, {}, self.dtype());
  finish_node(node, output, [](Node& own, TensorList&) {
    const Tensor log_probabilities = own.unpack(0);
    const Tensor classes = own.unpack(1);
    const Tensor weight_sum = own.unpack(2);
    OpScope scope(*own.runtime, "nll_loss_backward", 2);
    return TensorList{empty(*own.runtime, log_probabilities.sizes(), log_probabilities.dtype())};
  });
  if (node) {
    node->save_output(total_weight);
  }
  return output;
}

TensorList embedding_backward(Node& node, TensorList& grads, const Dims& weight) {
  Runtime& runtime = *node.runtime;
  const Tensor saved = node.unpack(0);  // released after what the op makes
  OpScope op(runtime, "embedding_dense_backward", 2);
  const Tensor grad = contiguous(grads[0]);
  const Tensor indices = contiguous(saved);
  const auto blocks =
      run_script(runtime, highwater::embedding_backward(runtime.gpu, indices.numel(), weight[0],
                                                        weight[1], grad.dtype(), runtime.torch));
  const auto left = std::ranges::find_if(blocks, [](const auto& block) { return bool{block}; });
  return {tensor_on(*left, weight, grad.dtype())};
}

}  // namespace

Tensor layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const AutocastOp cast(input.runtime());
  const Tensor wide_bias = cast.to_fp32(bias);
  const Tensor wide_weight = cast.to_fp32(weight);
  return layer_norm_kernel(cast.to_fp32(input), wide_weight, wide_bias);
}

// The statistic is kept in fp32 (ATen/native/cuda/layer_norm_kernel.cu of 2.15: acc_type).
Tensor fused_rms_norm(const Tensor& input, const Tensor& weight) {
  Runtime& runtime = input.runtime();
  const auto node = begin_node(runtime, "FusedRmsNormBackward0", {input, weight});
  if (node) {
    node->save(input);
    node->save(weight);
  }
  OpScope op(runtime, "_fused_rms_norm");
  const Tensor x = contiguous(input);
  Tensor result = empty(runtime, x.sizes(), x.dtype());
  Dims rows = input.sizes();
  rows.back() = 1;
  const Tensor rstd = empty(runtime, rows, DType::fp32);
  finish_node(node, result, rms_norm_backward);
  if (node) {
    node->save_output(rstd);
  }
  return result;
}

// rms_norm_symint in ATen/native/layer_norm.cpp: types that differ have no kernel; 2.9 has the
// first.
Tensor rms_norm_as_given(const Tensor& input, const Tensor& weight) {
  constexpr Release kFused{2, 9};
  const bool has_kernel =
      input.runtime().torch >= kFused && (!weight.defined() || input.dtype() == weight.dtype());
  return has_kernel ? fused_rms_norm(input, weight) : composite_rms_norm(input, weight);
}

// Autocast computes it in fp32 since 2.12 (pull request 174824), whatever the types are.
Tensor rms_norm(const Tensor& input, const Tensor& weight) {
  constexpr Release kWide{2, 12};
  if (input.runtime().torch < kWide) {
    return rms_norm_as_given(input, weight);
  }
  const AutocastOp cast(input.runtime());
  const Tensor wide_weight = cast.to_fp32(weight);
  return rms_norm_as_given(cast.to_fp32(input), wide_weight);
}

Tensor softmax(const Tensor& self, std::int64_t /*dim*/, std::optional<DType> dtype) {
  return softmax_like("_softmax", "SoftmaxBackward0",
                      softmax_backward_to(softmax_input_type(self, dtype)), self, dtype);
}

Tensor log_softmax(const Tensor& self, std::int64_t /*dim*/, std::optional<DType> dtype) {
  return softmax_like("_log_softmax", "LogSoftmaxBackward0",
                      log_softmax_backward_to(softmax_input_type(self, dtype)), self, dtype);
}

// A fully masked row becomes zeros: such rows are searched for, then filled in place.
Tensor safe_softmax(const Tensor& self, std::int64_t dim) {
  Runtime& runtime = self.runtime();
  const auto node = begin_node(runtime, "SafeSoftmaxBackward0", {self});
  OpScope op(runtime, "_safe_softmax");
  Tensor result;
  {
    NoGrad no_grad(runtime);
    result = softmax(self, dim, std::nullopt);
    Tensor masked = compare("eq", {self});
    Tensor masked_rows = reduce_plain("all", masked, {dim}, KeepDim::yes, DType::boolean);
    Tensor zero = empty(runtime, {}, self.dtype());
    end_of_frame(zero, masked_rows, masked);
  }
  finish_node(node, result, softmax_backward_to(self.dtype()));
  if (node) {
    node->save_output(result);
  }
  return result;
}

// native_dropout: mask (bool) and result; the mask alone is saved.
Tensor dropout(const Tensor& input, double p, bool training) {
  if (p == 0.0 || !training || input.numel() == 0) {
    return input;
  }
  Runtime& runtime = input.runtime();
  const auto node = begin_node(runtime, "NativeDropoutBackward0", {input});
  OpScope op(runtime, "native_dropout");
  const Tensor mask = empty_like(input, DType::boolean);
  Tensor result = empty_like(input);
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    OpScope scope(*own.runtime, "native_dropout_backward");
    // aten/src/ATen/native/cuda/Dropout.cu: empty_like(grad, grad.suggest_memory_format())
    return TensorList{empty(*own.runtime, grads[0].sizes(), grads[0].dtype())};
  });
  if (node) {
    node->save_output(mask);
  }
  return result;
}

// ATen/native/Embedding.cpp: indices.reshape(-1), a copy if they are expanded.
Tensor embedding(const Tensor& weight, const Tensor& indices, bool /*padding_idx*/) {
  return embedding_of_rows(weight, indices, weight.sizes(),
                           [](const Tensor& own) { return reshape(own, {-1}); });
}

Tensor embedding_of_rows(const Tensor& weight, const Tensor& indices, const Dims& grad_sizes,
                         const std::function<Tensor(const Tensor&)>& own_indices) {
  Runtime& runtime = weight.runtime();
  const auto node = begin_node(runtime, "EmbeddingBackward0", {weight});
  if (node) {
    node->save(indices);
  }
  OpScope op(runtime, "embedding");
  Dims sizes = indices.sizes();
  sizes.push_back(weight.sizes()[1]);
  const Tensor rows = own_indices(indices);
  Tensor result = empty(runtime, sizes, weight.dtype());
  finish_node(node, result, [grad_sizes](Node& own, TensorList& grads) {
    return embedding_backward(own, grads, grad_sizes);
  });
  return result;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target) {
  if (const auto& parallel = logits.runtime().parallel_cross_entropy) {
    return parallel(logits, target);
  }
  return nll_loss(log_softmax(logits, 1, logits.dtype()), target);
}

}  // namespace highwater::eager
