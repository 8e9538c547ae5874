#include "workloads/megatron/layers/engine_linear.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/layers/engine_products.hpp"
#include "workloads/megatron/transformer_engine/norm.hpp"
#include "workloads/megatron/transformer_engine/products.hpp"

namespace highwater::megatron {
namespace {

/// _LayerNormLinear.backward. Saved: input, weight, normalised input, mean,
/// deviation.
struct NormedLinearBackward {
  TensorParallel* tp;
  TeNormKind kind;
  bool adds_bias;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    const Tensor normalized = node.unpack(2);
    dist::Work gathering;
    Tensor total = normalized;
    if (tp->splits_sequence()) {
      total = gather_rows(*tp, normalized, gathering);
    }
    Tensor whole_gradient = input_gradient(grads[0], weight);
    dist::Work sending;
    Tensor gradient = summed_gradient(*tp, whole_gradient, sending);
    gathering.wait();
    Tensor own = own_weight_gradient(*tp, weight);
    Tensor of_bias = bias_gradient(weight);
    clear_data(normalized);
    if (tp->splits_sequence()) {
      clear_data(total);
    }
    sending.wait();
    NormGradients norm = normalize_backward(input, kind);
    gradient.reset();
    clear_data(node.unpack(3));
    clear_data(node.unpack(4));
    Tensor of_weight = weight_result(*tp, weight, std::move(own));
    eager::end_of_frame(whole_gradient, grads[0]);
    return {std::move(norm.input), std::move(norm.weight), std::move(norm.bias),
            std::move(of_weight), std::move(of_bias)};
  }

 private:
  // By the weight's product (CUBLASLT_EPILOGUE_BGRADB), in its type.
  [[nodiscard]] Tensor bias_gradient(const Tensor& weight) const {
    return adds_bias ? product_block(weight.runtime(), {weight.size(0)}, tp->gradient_dtype(weight))
                     : Tensor{};
  }
};

/// _Linear.backward. Saved: input, weight.
struct EngineLinearBackward {
  TensorParallel* tp;
  EngineSplit split;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor weight = node.unpack(1);
    Tensor grad_output = grads[0];
    if (split == EngineSplit::rows && tp->splits_sequence()) {
      dist::Work work;
      grad_output = gather_rows(*tp, grads[0], work);
      work.wait();
    }
    dist::Work gathering;
    Tensor total = node.unpack(0);
    if (split == EngineSplit::columns && tp->splits_sequence()) {
      total = gather_rows(*tp, total, gathering);
    }
    Tensor result = input_gradient(grad_output, weight);
    dist::Work sending;
    if (split == EngineSplit::columns) {
      result = summed_gradient(*tp, result, sending);
    }
    gathering.wait();
    Tensor own = own_weight_gradient(*tp, weight);
    grad_output.reset();
    sending.wait();
    result->takes_no_sum = true;
    return {std::move(result), weight_result(*tp, weight, std::move(own))};
  }
};

}  // namespace

NormedLinear::NormedLinear(nn::Module* parent, std::string name, const LayerContext& shared,
                           LinearSize size, SplitBias bias)
    : SplitLinear(parent, std::move(name)),
      tp_(shared.tp),
      kind_(shared.config.rms_norm ? TeNormKind::rms : TeNormKind::layer),
      bias_kind_(bias) {
  const nn::InModule scope(*this);
  norm_weight_ = make_parameter("layer_norm_weight", {size.in});
  if (kind_ == TeNormKind::layer) {
    norm_bias_ = make_parameter("layer_norm_bias", {size.in});
  }
  weight_ = make_parameter("weight", {size.out / tp_.size(), size.in});
  if (bias != SplitBias::none) {
    bias_ = make_parameter("bias", {size.out / tp_.size()});
  }
}

WithBias NormedLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  input = eager::contiguous(input);  // prepare_forward
  const bool adds_bias = bias_kind_ == SplitBias::added;
  keep_product_workspace(runtime());
  const auto node =
      eager::begin_node(runtime(), "_LayerNormLinearBackward",
                        {input, norm_weight_, norm_bias_, weight_, adds_bias ? bias_ : Tensor{}});
  Normalized norm;
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime());
    norm = normalize(input, kind_);
    Tensor total = norm.output;
    if (tp_.splits_sequence()) {
      dist::Work work;
      total = gather_rows(tp_, norm.output, work);
      work.wait();
    }
    output = result_block(total, weight_);
  }
  if (node) {
    node->save(input);
    node->save(weight_);
    node->save(norm.output);
    node->save(norm.mean);
    node->save(norm.deviation);
  }
  eager::finish_node(node, output,
                     NormedLinearBackward{.tp = &tp_, .kind = kind_, .adds_bias = adds_bias});
  eager::end_of_frame(norm.mean, norm.deviation, norm.output);
  return {std::move(output), bias_kind_ == SplitBias::skipped ? bias_ : Tensor{}};
}

EngineLinear::EngineLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                           LinearSize size, EngineSplit split, nn::Bias bias)
    : SplitLinear(parent, std::move(name)), tp_(tp), split_(split) {
  const nn::InModule scope(*this);
  const std::int64_t rows = size.out / (split == EngineSplit::columns ? tp.size() : 1);
  const std::int64_t columns = size.in / (split == EngineSplit::rows ? tp.size() : 1);
  weight_ = make_parameter("weight", {rows, columns});
  if (bias == nn::Bias::present) {
    bias_ = make_parameter("bias", {rows});
  }
  keep_product_workspace(runtime());  // _prealloc_cublas_workspace
}

WithBias EngineLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  const auto node = eager::begin_node(runtime(), "_LinearBackward", {input, weight_});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime());
    output = product(input);
  }
  if (node) {
    node->save(input);
    node->save(weight_);
  }
  eager::finish_node(node, output, EngineLinearBackward{.tp = &tp_, .split = split_});
  return {std::move(output), bias_};
}

Tensor EngineLinear::product(const Tensor& input) const {
  if (split_ == EngineSplit::rows) {
    return summed_result(tp_, result_block(input, weight_));
  }
  Tensor total = input;
  if (split_ == EngineSplit::columns && tp_.splits_sequence()) {
    dist::Work work;
    total = gather_rows(tp_, input, work);
    work.wait();
  }
  return result_block(total, weight_);
}

}  // namespace highwater::megatron
