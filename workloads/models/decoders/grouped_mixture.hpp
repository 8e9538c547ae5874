// The mixture of experts of DeepSeek-V3, GLM-4 MoE, dots.1 and Solar Open: a sigmoid gate that
// picks groups of experts first, and experts that every token passes.
#pragma once

#include "workloads/models/decoders/decoder.hpp"

namespace highwater::models {

struct GroupedMixture {
  std::int64_t hidden = 0;
  std::int64_t experts = 0;
  std::int64_t width = 0;  ///< of one expert
  std::int64_t shared_experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t groups = 1;
  std::int64_t chosen_groups = 1;
  bool normalizes = true;  ///< the weights of a token's experts are made to sum to 1
  Activation activation = Activation::silu;
  CorrectionType correction = CorrectionType::of_model;
  bool scales_late = false;    ///< the sum of the experts' results, not their weights: Beam
  bool by_softmax = false;     ///< the gate has no buffer: DeepSeek-V2
  bool limits_groups = false;  ///< such a gate looks for groups, too
};

std::unique_ptr<FeedForward> make_grouped_mixture(Module* parent, const GroupedMixture& mixture,
                                                  const LlamaConfig& shape);

}  // namespace highwater::models
