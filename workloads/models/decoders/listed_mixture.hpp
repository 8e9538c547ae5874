// A mixture of experts as transformers 4 has it: a list of networks made of linear layers, which
// LoRA adapts and bitsandbytes replaces. transformers 5 merges them into two parameters
// (workloads/models/experts).
#pragma once

#include "workloads/models/decoders/decoder.hpp"

namespace highwater::models {

/// What the class of an expert calls its layers, and in which order it makes them.
enum class ExpertLayerNames : std::uint8_t {
  w1_w2_w3,     ///< MixtralBlockSparseTop2MLP
  gate_up_down  ///< Qwen2MoeMLP, Qwen3MoeMLP, OlmoeMLP
};

struct ListedMixture {
  const char* name = "mlp";  ///< of the block
  ExpertLayerNames layers = ExpertLayerNames::gate_up_down;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  bool normalizes = true;  ///< the chosen weights are made to sum to 1
  Activation activation = Activation::silu;
  FeedForwardMaker make_shared_expert;  ///< of one behind a gate: Qwen2-MoE; empty: there is none
};

std::unique_ptr<FeedForward> make_listed_mixture(Module* parent, const ListedMixture& mixture);

}  // namespace highwater::models
