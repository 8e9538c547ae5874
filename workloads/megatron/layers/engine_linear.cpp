#include "workloads/megatron/layers/engine_linear.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/transformer_engine/norm.hpp"
#include "workloads/megatron/transformer_engine/products.hpp"

namespace highwater::megatron {
namespace {

Tensor result_of(const Tensor& input, const Tensor& weight) {
  Dims sizes = input.sizes();
  sizes.back() = weight.size(0);
  return product_block(input.runtime(), sizes, input.dtype());
}

/// The gradient of a product's input.
Tensor input_gradient(const Tensor& grad_output, const Tensor& weight) {
  Dims sizes = grad_output.sizes();
  sizes.back() = weight.size(1);
  return product_block(grad_output.runtime(), sizes, grad_output.dtype());
}

/// gather_along_first_dim.
Tensor gathered(TensorParallel& tp, const Tensor& part, dist::Work& work) {
  Tensor whole = eager::empty(part.runtime(), with_first(part.sizes(), part.size(0) * tp.size()),
                              part.dtype());
  work = tp.group().all_gather_async(whole, part);
  return whole;
}

/// reduce_scatter_along_first_dim.
Tensor scattered(TensorParallel& tp, const Tensor& whole, dist::Work& work) {
  Tensor part = eager::empty(whole.runtime(), with_first(whole.sizes(), whole.size(0) / tp.size()),
                             whole.dtype());
  work = tp.group().reduce_scatter_async(part, whole);
  return part;
}

/// What backward returns for the weight: a stand-in for what it added to DDP's buffer, or nothing
/// yet, since the product of its own has been made before.
Tensor weight_result(TensorParallel& tp, const Tensor& weight, Tensor own) {
  return tp.fuses_weight_gradients() ? tp.stand_in_gradient(weight) : std::move(own);
}

/// A product of its own where gradients are not added to DDP's buffer.
Tensor own_weight_gradient(const TensorParallel& tp, const Tensor& weight) {
  return tp.fuses_weight_gradients()
             ? Tensor{}
             : product_block(weight.runtime(), weight.sizes(), weight.dtype());
}

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
      total = gathered(*tp, normalized, gathering);
    }
    Tensor whole_gradient = input_gradient(grads[0], weight);
    dist::Work sending;
    Tensor gradient = reduced(whole_gradient, sending);
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
  [[nodiscard]] Tensor reduced(const Tensor& whole, dist::Work& work) const {
    if (tp->splits_sequence()) {
      return scattered(*tp, whole, work);
    }
    if (tp->size() > 1) {
      work = tp->group().all_reduce(whole);
    }
    return whole;
  }

  // By the weight's product (CUBLASLT_EPILOGUE_BGRADB), in its type.
  [[nodiscard]] Tensor bias_gradient(const Tensor& weight) const {
    return adds_bias ? product_block(weight.runtime(), {weight.size(0)}, tp->gradient_dtype(weight))
                     : Tensor{};
  }
};

/// _Linear.backward of a layer whose input is split. Saved: input, weight.
struct RowLinearBackward {
  TensorParallel* tp;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    Tensor grad_output = grads[0];
    if (tp->splits_sequence()) {
      dist::Work work;
      grad_output = gathered(*tp, grads[0], work);
      work.wait();
    }
    Tensor result = input_gradient(grad_output, weight);
    Tensor own = own_weight_gradient(*tp, weight);
    grad_output.reset();
    return {std::move(result), weight_result(*tp, weight, std::move(own))};
  }
};

}  // namespace

NormedLinear::NormedLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                           const Config& config, std::int64_t out, SplitBias bias)
    : SplitLinear(parent, std::move(name)),
      tp_(tp),
      kind_(config.rms_norm ? TeNormKind::rms : TeNormKind::layer),
      bias_kind_(bias) {
  const nn::InModule scope(*this);
  norm_weight_ = make_parameter("layer_norm_weight", {config.hidden});
  if (kind_ == TeNormKind::layer) {
    norm_bias_ = make_parameter("layer_norm_bias", {config.hidden});
  }
  weight_ = make_parameter("weight", {out / tp.size(), config.hidden});
  if (bias != SplitBias::none) {
    bias_ = make_parameter("bias", {out / tp.size()});
  }
}

WithBias NormedLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
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
      total = gathered(tp_, norm.output, work);
      work.wait();
    }
    output = result_of(total, weight_);
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

EngineRowLinear::EngineRowLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                                 const Config& config, std::int64_t in)
    : SplitLinear(parent, std::move(name)), tp_(tp) {
  const nn::InModule scope(*this);
  weight_ = make_parameter("weight", {config.hidden, in / tp.size()});
  if (config.linear_bias) {
    bias_ = make_parameter("bias", {config.hidden});
  }
  keep_product_workspace(runtime());  // _prealloc_cublas_workspace
}

WithBias EngineRowLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  const auto node = eager::begin_node(runtime(), "_LinearBackward", {input, weight_});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime());
    const Tensor partial = result_of(input, weight_);
    output = partial;
    dist::Work work;
    if (tp_.splits_sequence()) {
      output = scattered(tp_, partial, work);
    } else if (tp_.size() > 1) {
      work = tp_.group().all_reduce(partial);
    }
    work.wait();
  }
  if (node) {
    node->save(input);
    node->save(weight_);
  }
  eager::finish_node(node, output, RowLinearBackward{&tp_});
  return {std::move(output), bias_};
}

}  // namespace highwater::megatron
