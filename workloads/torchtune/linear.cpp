#include "workloads/torchtune/linear.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/error.hpp"
#include "workloads/nn/quantized/torchao_nf4.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::torchtune {

using eager::Tensor;

/// lora_a and lora_b of LoRALinear, and what its forward does with them.
class LowRank : public nn::Adapter {
 public:
  explicit LowRank(nn::Linear& layer)
      : layer_(layer),
        dropout_(&layer, "dropout"),
        probability_(layer.context().plan.lora.dropout),
        a_(&layer, "lora_a", layer.in_features(), layer.context().plan.lora.rank, nn::Bias::none),
        b_(&layer, "lora_b", layer.context().plan.lora.rank, layer.out_features(), nn::Bias::none) {
    if (layer.context().plan.lora.dora) {
      magnitude_ = layer.make_parameter("magnitude", {layer.out_features()});
    }
  }

  Tensor run(Tensor x, const Forward& base_layer) const override {
    Tensor out = base_layer(x);
    return magnitude_.defined() ? decomposed(out, std::move(x)) : sum(std::move(out), x);
  }

  void initialize_magnitude() const {
    if (!magnitude_.defined()) {
      return;
    }
    const eager::NoGrad no_grad(layer_.runtime());
    Tensor weight = base_weight();
    Tensor product = eager::mm(b_.weight, a_.weight);
    weight_norm(weight, product);
    eager::end_of_frame(weight, product);
  }

 private:
  // nn.Dropout, or nn.Identity without a probability.
  [[nodiscard]] Tensor dropped(const Tensor& x) const {
    const nn::InModule scope(dropout_);
    return dropout_.call(x, [this](const Tensor& in) {
      return eager::dropout(in, probability_, dropout_.context().training);
    });
  }

  [[nodiscard]] Tensor sum(Tensor out, const Tensor& x) const {
    Tensor lora_out = a_(dropped(x));
    {
      Tensor high = b_(lora_out);
      Tensor scaled = eager::mul(high, 1.0);
      high.reset();
      lora_out = std::move(scaled);
    }
    Tensor result = eager::add(out, lora_out);
    eager::end_of_frame(out, lora_out);
    return result;
  }

  // self.weight.to(dtype): a copy of a quantised weight.
  [[nodiscard]] Tensor base_weight() const {
    return layer_.quantized() != nullptr ? layer_.quantized()->dequantized() : layer_.weight;
  }

  // _get_weight_norm
  static Tensor weight_norm(const Tensor& base, const Tensor& lora_weight) {
    Tensor scaled = eager::mul(lora_weight, 1.0);
    const Tensor weight = eager::add(base, scaled);
    scaled.reset();
    return eager::to_dtype(eager::vector_norm(weight, 1), weight.dtype());
  }

  // DoRALinear.forward
  [[nodiscard]] Tensor decomposed(Tensor base_out, Tensor x) const {
    x = dropped(x);
    Tensor lora_out;
    {
      Tensor low = a_(x);
      lora_out = b_(low);
    }
    Tensor x_eye = eager::empty(layer_.runtime(), {a_.in_features(), a_.in_features()}, x.dtype());
    Tensor lora_weight;
    {
      Tensor low = a_(x_eye);
      Tensor product = b_(low);
      low.reset();
      lora_weight = eager::t(product);
    }
    Tensor weight = base_weight();
    Tensor norm = eager::detach(weight_norm(weight, eager::detach(lora_weight)));
    Tensor scale = eager::view(eager::div(magnitude_, norm), {1, -1});
    Tensor dora_out = scaled_parts(scale, base_out, lora_out);
    Tensor result = eager::add(dora_out, base_out);
    eager::end_of_frame(x, base_out, lora_out, x_eye, lora_weight, weight, norm, scale, dora_out);
    return result;
  }

  // (mag_norm_scale - 1) * base_out + mag_norm_scale * lora_out * self.scaling
  static Tensor scaled_parts(const Tensor& scale, const Tensor& base_out, const Tensor& lora_out) {
    Tensor change = eager::add(scale, -1.0);
    Tensor from_base = eager::mul(change, base_out);
    change.reset();
    Tensor from_adapter = eager::mul(scale, lora_out);
    Tensor scaled = eager::mul(from_adapter, 1.0);
    from_adapter.reset();
    Tensor result = eager::add(from_base, scaled);
    eager::end_of_frame(from_base, scaled);
    return result;
  }

  const nn::Linear& layer_;
  nn::Container dropout_;
  double probability_;
  nn::Linear a_;
  nn::Linear b_;
  Tensor magnitude_;  ///< of DoRA
};

namespace {

struct OtherName {
  std::string_view torchtune;
  std::string_view transformers;
};

constexpr std::array kOtherNames{OtherName{"output_proj", "o_proj"}, OtherName{"w1", "gate_proj"},
                                 OtherName{"w2", "down_proj"}, OtherName{"w3", "up_proj"},
                                 OtherName{"output", "lm_head"}};

std::string_view name_in_transformers(std::string_view name) {
  const auto* const row = std::ranges::find(kOtherNames, name, &OtherName::torchtune);
  return row == kOtherNames.end() ? name : row->transformers;
}

bool is_target(const TrainingPlan& plan, std::string_view name) {
  const std::string_view other = name_in_transformers(name);
  return plan.lora.rank > 0 &&
         std::ranges::any_of(lora_targets(plan), [&](std::string_view target) {
           return target == name || target == other || (target == "all-linear" && name != "output");
         });
}

/// quantize_base: all layers of the blocks, but of Qwen2's those with adapters alone
/// (models/qwen2/_component_builders.py).
bool is_frozen_in_nf4(const TrainingPlan& plan, std::string_view name, bool has_adapter) {
  const bool builds_others = !always_has_qkv_bias(*plan.model.config.as<LlamaConfig>().code);
  return is_quantized(plan.quantization) && name != "output" && (has_adapter || builds_others);
}

bool is_of_adapter(std::string_view parameter) {
  return parameter.ends_with("lora_a.weight") || parameter.ends_with("lora_b.weight") ||
         parameter.ends_with("magnitude");
}

void collect(const nn::Module& module, std::vector<const Linear*>& layers) {
  for (const nn::Module* child : module.children()) {
    if (const auto* linear = dynamic_cast<const Linear*>(child)) {
      layers.push_back(linear);
    }
    collect(*child, layers);
  }
}

std::vector<const Linear*> linear_layers(const nn::Module& root) {
  std::vector<const Linear*> layers;
  collect(root, layers);
  return layers;
}

}  // namespace

// A quantised layer with an adapter keeps the weight that it was made of, in a variable of its
// __init__, until the adapter is there.
Linear::Linear(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
               nn::Bias with_bias)
    : nn::Linear(parent, name, in, out, with_bias) {
  const nn::InModule scope(*this);
  const bool has_adapter = is_target(context().plan, name);
  const eager::Tensor made = weight;
  if (is_frozen_in_nf4(context().plan, name, has_adapter)) {
    freeze_in_nf4(made);
  }
  if (has_adapter) {
    auto adapter = std::make_unique<LowRank>(*this);
    low_rank_ = adapter.get();
    set_adapter(std::move(adapter));
  }
}

// fully_shard gathers an NF4Tensor as three tensors, in this order (fsdp_pre_all_gather).
void Linear::freeze_in_nf4(const eager::Tensor& made) {
  nn::Nf4Weight packed = nn::quantize_nf4(made);
  const eager::Tensor scales = packed.scales;
  register_parameter("weight.quantization_factor", packed.factor);
  register_parameter("weight.quantized_data", packed.codes);
  require_whole_shares(packed.factor);
  quantize(scales, std::make_unique<nn::LinearNf4>(std::move(packed)));
}

// nf4_split: assert inner_tensor.numel() % num_chunks == 0
void Linear::require_whole_shares(const eager::Tensor& factor) const {
  const std::int64_t ranks = context().plan.parallel.dp;
  if (factor.numel() % ranks != 0) {
    throw InputError("plan", "quantize",
                     "torchao's NF4 of a layer of " + std::to_string(in_features()) +
                         " inputs and " + std::to_string(out_features()) + " outputs has " +
                         std::to_string(factor.numel()) + " factors, which " +
                         std::to_string(ranks) +
                         " ranks cannot share evenly (aten.split of an NF4Tensor ends with an "
                         "assertion)",
                     "use fewer ranks, or a model of other widths");
  }
}

// Published checkpoints are in bf16, whatever the model is made in.
void Linear::load() const {
  if (quantized() != nullptr) {
    nn::load_nf4(eager::empty_on(runtime(), eager::Place::host, {out_features(), in_features()},
                                 DType::bf16));
  }
}

void Linear::initialize_magnitude() const {
  if (low_rank_ != nullptr) {
    low_rank_->initialize_magnitude();
  }
}

void load_checkpoint(const nn::Module& root) {
  const std::vector<const Linear*> layers = linear_layers(root);
  std::ranges::for_each(layers, &Linear::load);
  std::ranges::for_each(layers, &Linear::initialize_magnitude);
}

void train_adapters_alone(nn::Module& root) {
  bool has_adapters = false;
  for (const nn::NamedTensor& parameter : nn::named_parameters(root)) {
    const bool is_trained = is_of_adapter(parameter.name);
    parameter.tensor->requires_grad = is_trained;
    has_adapters = has_adapters || is_trained;
  }
  if (!has_adapters) {
    throw InputError("plan", "lora-targets", "torchtune's decoder has no layer of that name",
                     "name some of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj "
                     "and, where embeddings are not tied, lm_head");
  }
}

}  // namespace highwater::torchtune
