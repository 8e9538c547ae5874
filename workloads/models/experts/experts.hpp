// The experts of a mixture as transformers 5 stores them, all in two parameters, and the four ways
// to run them (integrations/moe.py and the modelling files).
#pragma once

#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/activation.hpp"
#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/model/families/mixtral.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

struct ExpertsShape {
  std::int64_t count = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  Activation activation = Activation::silu;
  bool is_wide = false;  ///< activation and product in fp32: Beam
};

/// (act_fn(gate.float()) * up.float()).to(gate.dtype)
Tensor wide_product(const nn::ActivationFunction& act_fn, const Tensor& gate, const Tensor& up);

/// How many tokens each of `count` experts gets of those that chose, which are [tokens, top_k].
std::vector<std::int64_t> tokens_of_experts(const TrainingPlan& plan, std::int64_t count,
                                            const Tensor& chosen);

/// Experts that got a token.
std::int64_t experts_with_tokens(const std::vector<std::int64_t>& counts);

/// final.index_add_(0, tokens, result.to(final.dtype))
void add_to(const Tensor& total, const Tensor& tokens, const Tensor& result);

/// Mixtral without its mixtures: a LLaMA whose feed-forward part is one expert's.
LlamaConfig decoder_of(const MixtralConfig& config);

/// MixtralExperts, DeepseekV3NaiveMoe. Which tokens an expert gets depends on data; how many is the
/// plan's MoeLoad.
class MixtureOfExperts : public Module {
 public:
  MixtureOfExperts(Module* parent, const ExpertsShape& shape);

  /// `chosen` and `weights` are [tokens, top_k].
  Tensor operator()(const Tensor& hidden_states, const Tensor& chosen, const Tensor& weights) const;

 private:
  [[nodiscard]] Tensor loop(const Tensor& hidden, const Tensor& chosen,
                            const Tensor& weights) const;
  [[nodiscard]] Tensor even_loop(const Tensor& hidden, const Tensor& chosen,
                                 const Tensor& weights) const;
  [[nodiscard]] Tensor batched(const Tensor& hidden, const Tensor& chosen,
                               const Tensor& weights) const;
  [[nodiscard]] Tensor grouped(const Tensor& hidden, const Tensor& chosen,
                               const Tensor& weights) const;
  [[nodiscard]] Tensor gated_product(const Tensor& gate, const Tensor& up) const;
  [[nodiscard]] std::vector<std::int64_t> counts(const Tensor& chosen) const;

  ExpertsShape shape_;
  nn::ActivationFunction act_fn_;
  Tensor gate_up_proj_;
  Tensor down_proj_;
};

}  // namespace highwater::models
