// The layers of torch.nn that the covered models use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/nn/module.hpp"
#include "workloads/plan/model/activation.hpp"

namespace highwater::nn {

enum class Bias : std::uint8_t { none, present };

constexpr Bias bias_if(bool present) {
  return present ? Bias::present : Bias::none;
}

/// What PEFT puts around a linear layer.
class Adapter {
 public:
  /// The layer's own forward.
  using Forward = std::function<Tensor(const Tensor&)>;

  Adapter() = default;
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  virtual ~Adapter() = default;

  [[nodiscard]] virtual Tensor run(Tensor x, const Forward& base_layer) const = 0;
};

/// How PEFT's layer adds an adapter's result to that of its base layer.
enum class AdapterForm : std::uint8_t {
  plain,     ///< tuners/lora/layer.py
  separate,  ///< tuners/lora/bnb.py Linear8bitLt: the adapter's result has a variable of its own
  cloned     ///< tuners/lora/bnb.py Linear4bit: the base layer's result is copied before
};

/// What takes the place of a linear layer's weight and its product: a weight in fewer bits.
class QuantizedWeight {
 public:
  QuantizedWeight() = default;
  QuantizedWeight(const QuantizedWeight&) = delete;
  QuantizedWeight& operator=(const QuantizedWeight&) = delete;
  virtual ~QuantizedWeight() = default;

  /// The layer's forward. `bias` may be undefined.
  [[nodiscard]] virtual Tensor apply(const Tensor& x, const Tensor& bias) const = 0;
  /// The weight as it was before (PEFT's dequantize_module_weight).
  [[nodiscard]] virtual Tensor dequantized() const = 0;
  [[nodiscard]] virtual AdapterForm adapter_form() const = 0;
  /// The type that adapters are moved to the device in (peft 0.21, tuners/tuners_utils.py
  /// _get_base_layer_device_and_dtype); empty: their own.
  [[nodiscard]] virtual std::optional<DType> adapter_dtype() const = 0;
  /// What copy.deepcopy() of the layer makes where PEFT copies it, in order of its release.
  [[nodiscard]] virtual std::vector<Tensor> deep_copied(const Tensor& bias) const = 0;

  /// The parameters that hold the weight, made anew from the whole weight of a checkpoint, before
  /// each rank keeps its share of them; empty: nobody makes them so.
  [[nodiscard]] virtual std::vector<Tensor> quantized_again() const { return {}; }

  /// What state_dict() of the layer makes anew.
  [[nodiscard]] virtual std::vector<Tensor> saved_state() const { return {}; }

  /// What describes the codes follows them to the GPU.
  virtual void bring_state_to_cuda() const {}
};

/// nn.Linear.
class Linear : public Module {
 public:
  Linear(Module* parent, std::string name, std::int64_t in, std::int64_t out,
         Bias bias = Bias::present);

  [[nodiscard]] LayerKind layer_kind() const override { return LayerKind::linear; }

  virtual Tensor operator()(Tensor x) const;

  void set_adapter(std::unique_ptr<Adapter> adapter) { adapter_ = std::move(adapter); }

  /// Replaces the weight by `packed`, the parameter in which `quantized` keeps its bits.
  void quantize(const Tensor& packed, std::unique_ptr<QuantizedWeight> quantized);

  /// The product from now on is Float8Linear's (float8_linear.hpp).
  void compute_in_float8() { in_float8_ = true; }

  /// Null unless the weight is quantised.
  [[nodiscard]] const QuantizedWeight* quantized() const { return quantized_.get(); }

  /// Of the weight as it is multiplied; a quantised one is stored in another shape.
  [[nodiscard]] std::int64_t in_features() const { return in_; }

  [[nodiscard]] std::int64_t out_features() const { return out_; }

  /// Shares the weight with an embedding. A model on meta gets two parameters nevertheless:
  /// to_empty() replaces every parameter by a new one, unless it is a DTensor (fully_shard).
  void tie_weight(const Tensor& embedding);

  Tensor weight;
  Tensor bias;

 protected:
  /// F.linear, or what takes its place.
  [[nodiscard]] virtual Tensor product(const Tensor& x) const;

 private:
  [[nodiscard]] Tensor run(Tensor x) const;

  std::int64_t in_;
  std::int64_t out_;
  bool in_float8_ = false;
  std::unique_ptr<QuantizedWeight> quantized_;
  std::unique_ptr<Adapter> adapter_;
};

/// transformers' Conv1D: a linear layer whose weight is stored [in, out].
class Conv1D : public Module {
 public:
  Conv1D(Module* parent, std::string name, std::int64_t in, std::int64_t out);

  [[nodiscard]] LayerKind layer_kind() const override { return LayerKind::conv1d; }

  virtual Tensor operator()(Tensor x) const;

  void set_adapter(std::unique_ptr<Adapter> adapter) { adapter_ = std::move(adapter); }

  Tensor weight;
  Tensor bias;

 private:
  std::unique_ptr<Adapter> adapter_;
};

/// The linear layer that takes Conv1D's place (transformers 5.23, integrations/bitsandbytes.py
/// replace_with_bnb_linear); in files its weight is [in, out] still.
class LinearFromConv1D : public Linear {
 public:
  using Linear::Linear;

  [[nodiscard]] LayerKind layer_kind() const override { return LayerKind::conv1d; }
};

/// nn.Embedding.
class Embedding : public Module {
 public:
  Embedding(Module* parent, std::string name, std::int64_t rows, std::int64_t width);

  [[nodiscard]] LayerKind layer_kind() const override { return LayerKind::embedding; }

  Tensor operator()(Tensor indices) const;

  /// Replaces F.embedding for a table of which this rank holds only a part.
  void set_lookup(std::function<Tensor(const Tensor& weight, const Tensor& indices)> lookup) {
    lookup_ = std::move(lookup);
  }

  /// enable_input_require_grads(): the output becomes a leaf that requires a gradient, so that
  /// checkpointed blocks after a frozen embedding are differentiated.
  void let_output_require_grad() { output_requires_grad_ = true; }

  Tensor weight;

 protected:
  /// The forward without its hooks, and the hooks on a result.
  [[nodiscard]] Tensor look_up(const Tensor& indices) const;
  [[nodiscard]] Tensor hooked(Tensor output) const;

 private:
  [[nodiscard]] Tensor rows_of(const Tensor& indices) const;

  std::function<Tensor(const Tensor&, const Tensor&)> lookup_;
  bool output_requires_grad_ = false;
};

/// nn.LayerNorm; without weights if not `elementwise_affine`.
class LayerNorm : public Module {
 public:
  LayerNorm(Module* parent, std::string name, std::int64_t width, bool elementwise_affine = true);

  [[nodiscard]] LayerKind layer_kind() const override { return LayerKind::norm; }

  Tensor operator()(Tensor x) const;

 private:
  Tensor weight_;
  Tensor bias_;
};

/// nn.Dropout with the probability after any override by the plan.
class Dropout : public Module {
 public:
  Dropout(Module* parent, std::string name, double p);

  Tensor operator()(Tensor x) const;

  [[nodiscard]] double probability() const { return p_; }

 private:
  double p_;
};

/// F.dropout inside a module: probability as configured, active in training.
Tensor functional_dropout(const ModelContext& context, const Tensor& x, double p);

/// The same with a probability to which the plan's override has already been applied.
Tensor plain_dropout(const ModelContext& context, const Tensor& x, double p);

/// transformers' ACT2FN.
Tensor activate(const ModelContext& context, Activation activation, const Tensor& x);

/// The module that ACT2FN gives: calls of it are seen by hooks; blocks keep their owner's name.
class ActivationFunction : public Module {
 public:
  ActivationFunction(Module* parent, std::string name, Activation activation)
      : Module(parent, std::move(name)), activation_(activation) {}

  Tensor operator()(const Tensor& x) const {
    enter();
    Tensor result = activate(context(), activation_, x);
    leave();
    return result;
  }

 private:
  Activation activation_;
};

}  // namespace highwater::nn
