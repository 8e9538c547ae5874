// The gate of a mixture of experts: which experts a token passes, and with which weights.
#pragma once

#include <memory>

#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

/// What the gate of a mixture returns.
struct Choice {
  Tensor logits;
  Tensor weights;
  Tensor indices;
};

class ExpertGate : public Module {
 public:
  ExpertGate(Module* parent, const LlamaConfig& config);

  /// `correction`: a buffer that a sigmoid gate adds before it chooses.
  Choice operator()(const Tensor& hidden_states, const Tensor& correction) const;

 private:
  [[nodiscard]] Choice choose(const Tensor& hidden_states, const Tensor& correction) const;
  [[nodiscard]] Choice by_softmax(const Tensor& hidden_states) const;
  [[nodiscard]] Choice choose_first(const Tensor& hidden_states) const;
  [[nodiscard]] Choice by_sigmoid(const Tensor& hidden_states, const Tensor& correction) const;
  [[nodiscard]] Choice by_scaled_sigmoid(const Tensor& hidden_states,
                                         const Tensor& correction) const;
  [[nodiscard]] Choice score_best(const Tensor& hidden_states) const;

  ExpertGateCode kind_;
  std::int64_t top_k_;
  bool normalizes_;
  bool scores_by_sigmoid_;
  Tensor weight_;
  std::unique_ptr<nn::Linear> gate_;  ///< instead of the weight: AFMoE
};

}  // namespace highwater::models
