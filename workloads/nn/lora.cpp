#include "workloads/nn/lora.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/error.hpp"
#include "workloads/nn/dora.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

namespace {

using eager::Scoped;

/// The part of lora.Linear that is not the layer itself.
class LoraAdapter : public Adapter {
 public:
  LoraAdapter(Module& layer, std::int64_t in, std::int64_t out, const Lora& lora, AdapterForm form)
      : form_(form),
        layer_(layer),
        base_layer_(&layer, "base_layer"),
        lora_dropout_(&layer, "lora_dropout"),
        dropout_(&lora_dropout_, "default"),
        probability_(lora.dropout),
        lora_a_(&layer, "lora_A"),
        a_(&lora_a_, "default", in, lora.rank, Bias::none),
        lora_b_(&layer, "lora_B"),
        b_(&lora_b_, "default", lora.rank, out, Bias::none) {
    std::swap(base_layer_.own_parameters(), layer.own_parameters());
    if (lora.dora) {
      add_magnitude(layer);
    }
  }

  Tensor run(Tensor x, const Forward& base_layer) const override {
    Tensor result = call_base_layer(x, base_layer);
    return form_ == AdapterForm::plain ? add_plainly(std::move(result), std::move(x))
                                       : add_separately(std::move(result), std::move(x));
  }

  /// cast_adapter_dtype: adapters of low-precision layers are trained in fp32.
  void widen() {
    convert_to(DType::fp32);
    if (magnitude_) {
      magnitude_->convert_to(DType::fp32);
    }
  }

  /// Both weights are made anew in `dtype` where they are, A's first.
  void convert_to(DType dtype) {
    for (Linear* linear : {&a_, &b_}) {
      if (linear->weight.dtype() != dtype) {
        const InModule scope(*linear);
        linear->weight = linear->remake_parameter("weight", dtype);
      }
    }
  }

 private:
  [[nodiscard]] Tensor call_base_layer(const Tensor& x, const Forward& forward) const {
    const InModule scope(base_layer_);
    return base_layer_.call(x, forward);
  }

  // nn.Dropout, or nn.Identity without a probability.
  [[nodiscard]] Tensor dropped(const Tensor& x) const {
    const InModule scope(dropout_);
    return dropout_.call(x, [this](const Tensor& in) {
      return eager::dropout(in, probability_, dropout_.context().training);
    });
  }

  // lora_B(lora_A(dropout(x))) * scaling
  [[nodiscard]] Tensor scaled_product(const Tensor& x) const {
    Tensor low = a_(dropped(x));
    Tensor high = b_(low);
    low.reset();
    return eager::mul(high, 1.0);
  }

  [[nodiscard]] Tensor add_plainly(Tensor result, Tensor x) const {
    const DType type = result.dtype();
    layer_.reads(a_.weight);  // its type
    x = eager::to_dtype(x, a_.weight.dtype());
    if (magnitude_) {
      Tensor changed = with_magnitude(result, x);
      result = std::move(changed);
    } else {
      Tensor scaled = scaled_product(x);
      Tensor sum = eager::add(result, scaled);
      scaled.reset();
      result = std::move(sum);
    }
    result = eager::to_dtype(result, type);
    x.reset();
    return result;
  }

  void add_magnitude(Module& layer) {
    auto* linear = dynamic_cast<Linear*>(&layer);
    if (linear == nullptr) {
      throw InputError("plan", "dora", "the simulation has it for linear layers only",
                       "name others with --lora-targets, or use --engine torch");
    }
    magnitude_ = std::make_unique<DoraMagnitude>(*linear, a_, b_);
  }

  // variants.py DoraLinearVariant.forward
  [[nodiscard]] Tensor with_magnitude(Tensor result, Tensor x) const {
    const bool drops = probability_ > 0 && a_.context().training;
    x = drops ? eager::dropout(x, probability_, true) : x;
    Tensor base_result = drops ? Tensor{} : result;
    Tensor added = magnitude_->added(x, base_result, a_, b_);
    Tensor sum = eager::add(result, added);
    added.reset();
    result = std::move(sum);
    eager::end_of_frame(x, base_result);
    return result;
  }

  // Types are left to autocast where it is on.
  [[nodiscard]] Tensor add_separately(Tensor result, Tensor x) const {
    if (form_ == AdapterForm::cloned) {
      result = eager::clone(result);
    }
    const bool converts = !a_.runtime().autocast.enabled;
    const DType type = result.dtype();
    if (converts) {
      layer_.reads(a_.weight);
      x = eager::to_dtype(x, a_.weight.dtype());
    }
    if (magnitude_) {
      Tensor changed = with_magnitude(result, x);
      result = std::move(changed);
      result = converts ? eager::to_dtype(result, type) : result;
      x.reset();
      return result;
    }
    Tensor output = scaled_product(x);
    output = converts ? eager::to_dtype(output, type) : output;
    Tensor sum = eager::add(result, output);
    result = std::move(sum);
    eager::end_of_frame(x, output);
    return result;
  }

  AdapterForm form_;
  const Module& layer_;
  Container base_layer_;
  Container lora_dropout_;
  Container dropout_;
  double probability_;
  Container lora_a_;
  Linear a_;
  Container lora_b_;
  Linear b_;
  std::unique_ptr<DoraMagnitude> magnitude_;  ///< of DoRA
};

bool ends_with_name(std::string_view path, std::string_view name) {
  return path == name || (path.ends_with(name) && path[path.size() - name.size() - 1] == '.');
}

const QuantizedWeight* quantized_weight(const Linear& layer) {
  return layer.quantized();
}

const QuantizedWeight* quantized_weight(const Conv1D& /*layer*/) {
  return nullptr;
}

// Adapters are made on the host in fp32.
template <class Layer>
DType adapter_dtype(const Layer& layer) {
  const QuantizedWeight* quantized = quantized_weight(layer);
  return quantized == nullptr ? layer.weight.dtype()
                              : quantized->adapter_dtype().value_or(DType::fp32);
}

// They are moved to the layer's place in its type.
template <class Layer>
void adapt(Layer& layer, std::int64_t in, std::int64_t out, const Lora& lora,
           std::vector<LoraAdapter*>& adapters) {
  Scoped<DType> dtype(layer.context().dtype, adapter_dtype(layer));
  Scoped<eager::Place> place(layer.context().place, layer.weight.place());
  const QuantizedWeight* quantized = quantized_weight(layer);
  const AdapterForm form = quantized == nullptr ? AdapterForm::plain : quantized->adapter_form();
  auto adapter = std::make_unique<LoraAdapter>(layer, in, out, lora, form);
  adapters.push_back(adapter.get());
  layer.set_adapter(std::move(adapter));
}

/// One call of get_peft_model.
class Injection {
 public:
  Injection(const Lora& lora, std::vector<std::string> targets)
      : lora_(lora), targets_(std::move(targets)) {}

  std::vector<LoraAdapter*> run(Module& root) {
    visit(root, "", true);
    return std::move(adapters_);
  }

 private:
  [[nodiscard]] bool is_target(std::string_view path) const {
    return std::ranges::any_of(targets_,
                               [path](const auto& target) { return ends_with_name(path, target); });
  }

  // named_modules(): a module comes before its children.
  void visit(Module& module, const std::string& prefix, bool is_root) {
    const std::vector<Module*> children = module.children();
    for (Module* child : children) {
      const std::string path = prefix.empty() ? child->name() : prefix + "." + child->name();
      if (!consider(*child, path, is_root)) {  // an adapter's own layers are not targets
        visit(*child, path, false);
      }
    }
  }

  // Adapts the module if it is a target. "all-linear" leaves out the output embedding, a child of
  // the model itself.
  bool consider(Module& module, const std::string& path, bool is_child_of_root) {
    const bool is_all = targets_ == std::vector<std::string>{std::string(kAllLinear)};
    if (!(is_all ? !is_child_of_root : is_target(path))) {
      return false;
    }
    if (auto* linear = dynamic_cast<Linear*>(&module)) {
      adapt(*linear, linear->in_features(), linear->out_features(), lora_, adapters_);
    } else if (auto* conv = dynamic_cast<Conv1D*>(&module)) {
      adapt(*conv, conv->weight.size(0), conv->weight.size(1), lora_, adapters_);
    } else if (is_all) {
      return false;
    } else {
      throw InputError("plan", "lora-targets", path + " is not a linear layer",
                       "name only linear layers");
    }
    return true;
  }

  const Lora& lora_;
  std::vector<std::string> targets_;
  std::vector<LoraAdapter*> adapters_;
};

// transformers' is_gradient_checkpointing, on which PEFT calls enable_input_require_grads().
bool gradient_checkpointing_is_on(const TrainingPlan& plan) {
  const auto kind = plan.checkpoint.kind;
  const bool is_on = kind == CheckpointKind::full || kind == CheckpointKind::every_n;
  return is_on && is_transformers_model(plan);
}

Embedding* first_embedding(Module& module) {
  for (Module* child : module.children()) {
    Module& each = *child;
    auto* embedding = dynamic_cast<Embedding*>(&each);
    embedding = embedding != nullptr ? embedding : first_embedding(each);
    if (embedding != nullptr) {
      return embedding;
    }
  }
  return nullptr;
}

// trl 1.16, trainer/sft_trainer.py __init__: autocast_adapter_dtype=False under ZeRO-3, which
// cannot gather parameters of two types together.
bool keeps_adapter_type(const TrainingPlan& plan) {
  return plan.framework == Framework::trl_sft && uses_deepspeed(plan) &&
         plan.parallel.dp_kind == DataParallel::zero3 && !is_quantized(plan.quantization);
}

// trl 1.16, trainer/sft_trainer.py __init__: of quantised models, in bf16 as in QLoRA's paper.
bool narrows_adapters(const TrainingPlan& plan) {
  return plan.framework == Framework::trl_sft && is_quantized(plan.quantization);
}

}  // namespace

void apply_lora(Module& root) {
  const TrainingPlan& plan = root.context().plan;
  for (const auto& parameter : named_parameters(root)) {
    parameter.tensor->requires_grad = false;
  }
  const auto adapters = Injection(plan.lora, lora_targets(plan)).run(root);
  if (adapters.empty()) {
    throw InputError("plan", "lora-targets", "the model has no module of that name",
                     "give the last part of module paths, e.g. q_proj,v_proj");
  }
  if (!keeps_adapter_type(plan)) {
    for (LoraAdapter* adapter : adapters) {
      adapter->widen();
    }
  }
  if (narrows_adapters(plan)) {
    for (LoraAdapter* adapter : adapters) {
      adapter->convert_to(DType::bf16);
    }
  }
  if (gradient_checkpointing_is_on(plan)) {
    if (Embedding* embedding = first_embedding(root)) {
      embedding->let_output_require_grad();
    }
  }
}

}  // namespace highwater::nn
