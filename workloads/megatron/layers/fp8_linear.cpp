#include "workloads/megatron/layers/fp8_linear.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/layers/engine_products.hpp"
#include "workloads/megatron/transformer_engine/norm.hpp"
#include "workloads/megatron/transformer_engine/products.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

Fp8Recipe recipe_of(const nn::Module& module) {
  return module.context().plan.parallel.megatron.fp8;
}

void save_all(eager::Node& node, const Quantized& matrix) {
  for (const Tensor& tensor : tensors_of(matrix)) {
    node.save(tensor);
  }
}

/// Frees the codes that node has saved from `first` on, after the weight's product. Scales of their
/// own go with them; one scale for both directions stays with the node.
void clear_codes(const eager::Node& node, std::size_t first) {
  const bool has_own_scales = node.unpack(first + 3).defined();
  clear_data(node.unpack(first));
  clear_data(node.unpack(first + 2));
  if (has_own_scales) {
    clear_data(node.unpack(first + 3));
  }
}

/// Members in the order in which Python lets go of them.
void let_go(Quantized& matrix) {
  if (matrix.column_scales.defined()) {
    eager::end_of_frame(matrix.rows, matrix.columns, matrix.row_scales, matrix.column_scales);
  } else {
    eager::end_of_frame(matrix.rows, matrix.row_scales, matrix.columns);
  }
}

/// The codes of a weight that a forward pass made are a result of it: autograd fills in a gradient.
Tensor filled_in_gradient(const Tensor& weight, bool was_made) {
  if (!was_made) {
    return {};
  }
  const eager::OpScope op(weight.runtime(), "zeros");
  return eager::empty(weight.runtime(), weight.sizes(), weight.dtype());
}

/// Saved: input, weight, mean, deviation, codes of the normalised input.
struct Fp8NormedBackward {
  TensorParallel* tp;
  Fp8Recipe recipe;
  TeNormKind kind;
  bool made_codes;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    Tensor filled_in = filled_in_gradient(weight, made_codes);
    Quantized gradient = quantize(grads[0], recipe, Operand::activation, Directions::both);
    Tensor whole = input_gradient(grads[0], weight);
    dist::Work sending;
    Tensor summed = summed_gradient(*tp, whole, sending);
    Tensor own = own_weight_gradient(*tp, weight);
    clear_codes(node, 4);
    sending.wait();
    NormGradients norm = normalize_backward(input, kind);
    summed.reset();
    clear_data(node.unpack(2));
    clear_data(node.unpack(3));
    Tensor of_weight = weight_result(*tp, weight, std::move(own));
    let_go(gradient);
    eager::end_of_frame(whole, filled_in, grads[0]);
    return {std::move(norm.input), std::move(norm.weight), std::move(norm.bias),
            std::move(of_weight)};
  }
};

/// Saved: input or nothing, weight, codes of the input or nothing.
struct Fp8RowBackward {
  TensorParallel* tp;
  Fp8Recipe recipe;
  bool made_codes;

  TensorList operator()(eager::Node& node, TensorList& grads) const {
    const Tensor original = node.unpack(0);
    const Tensor weight = node.unpack(1);
    Tensor filled_in = filled_in_gradient(weight, made_codes);
    Quantized gradient = quantize(grads[0], recipe, Operand::activation, Directions::both);
    Quantized input;
    if (original.defined()) {
      input = quantize(original, recipe, Operand::activation, Directions::columns);
    }
    Tensor result = input_gradient(grads[0], weight);
    Tensor own = own_weight_gradient(*tp, weight);
    if (!original.defined()) {
      clear_codes(node, 2);
    }
    Tensor of_weight = weight_result(*tp, weight, std::move(own));
    let_go(gradient);
    let_go(input);
    filled_in.reset();
    return {std::move(result), std::move(of_weight)};
  }
};

}  // namespace

bool Fp8Weight::quantize_once(Fp8Recipe recipe) {
  if (codes_.rows.defined()) {
    return false;
  }
  codes_ = quantize(weight_, recipe, Operand::weight, Directions::both);
  for (const Tensor& tensor : tensors_of(codes_)) {
    if (tensor.defined()) {
      tensor.runtime().categorize(tensor, Category::buffer);
    }
  }
  return true;
}

Fp8NormedLinear::Fp8NormedLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                                 const Config& config, std::int64_t out, SplitBias bias)
    : SplitLinear(parent, std::move(name)),
      tp_(tp),
      recipe_(recipe_of(*this)),
      kind_(config.rms_norm ? TeNormKind::rms : TeNormKind::layer),
      bias_kind_(bias),
      norm_weight_(make_parameter("layer_norm_weight", {config.hidden})),
      norm_bias_(config.rms_norm ? Tensor{} : make_parameter("layer_norm_bias", {config.hidden})),
      weight_(make_parameter("weight", {out / tp.size(), config.hidden})) {
  if (bias != SplitBias::none) {
    bias_ = make_parameter("bias", {out / tp.size()});
  }
}

WithBias Fp8NormedLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  const Tensor& weight = weight_.in_16_bits();
  keep_product_workspace(runtime());
  keep_recipe_state(runtime(), recipe_, {}, state_);
  const auto node = eager::begin_node(runtime(), "_LayerNormLinearBackward",
                                      {input, norm_weight_, norm_bias_, weight});
  NormalizedTo8Bits norm;
  Tensor output;
  bool made_codes = false;
  {
    const eager::NoGrad no_grad(runtime());
    norm = normalize_to_8_bits(input, kind_, recipe_);
    made_codes = weight_.quantize_once(recipe_);
    output = result_block(input, weight);
    release_rows(norm.output);
  }
  if (node) {
    node->save(input);
    node->save(weight);
    node->save(norm.mean);
    node->save(norm.deviation);
    save_all(*node, norm.output);
  }
  eager::finish_node(
      node, output,
      Fp8NormedBackward{.tp = &tp_, .recipe = recipe_, .kind = kind_, .made_codes = made_codes});
  eager::end_of_frame(norm.mean, norm.deviation);
  return {std::move(output), bias_kind_ == SplitBias::skipped ? bias_ : Tensor{}};
}

Fp8RowLinear::Fp8RowLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                           const Config& config, std::int64_t in)
    : SplitLinear(parent, std::move(name)),
      tp_(tp),
      recipe_(recipe_of(*this)),
      saves_(this->name() == "linear_proj" && recipe_ != Fp8Recipe::delayed ? Fp8Saves::original
                                                                            : Fp8Saves::codes),
      weight_(make_parameter("weight", {config.hidden, in / tp.size()})) {
  if (config.linear_bias) {
    bias_ = make_parameter("bias", {config.hidden});
  }
  keep_product_workspace(runtime());
}

WithBias Fp8RowLinear::operator()(Tensor input) const {
  const nn::InModule scope(*this);
  const Tensor& weight = weight_.in_16_bits();
  const bool keeps_codes = saves_ == Fp8Saves::codes;
  keep_recipe_state(runtime(), recipe_, {}, state_);
  const auto node = eager::begin_node(runtime(), "_LinearBackward", {input, weight});
  Quantized codes;
  Tensor output;
  bool made_codes = false;
  {
    const eager::NoGrad no_grad(runtime());
    codes = quantize(input, recipe_, Operand::activation,
                     keeps_codes ? Directions::both : Directions::rows);
    made_codes = weight_.quantize_once(recipe_);
    output = summed_result(tp_, result_block(input, weight));
    keeps_codes ? release_rows(codes) : let_go(codes);
  }
  if (node) {
    node->save(keeps_codes ? Tensor{} : input);
    node->save(weight);
    save_all(*node, codes);
  }
  eager::finish_node(node, output,
                     Fp8RowBackward{.tp = &tp_, .recipe = recipe_, .made_codes = made_codes});
  return {std::move(output), bias_};
}

}  // namespace highwater::megatron
