// How many parameters a model has, from closed formulas: one per family, from the papers' and model
// cards' inventories of tensors, with nothing of the code that builds modules. So its agreement
// with the parameter blocks that a simulated model allocates means something.
#pragma once

#include <cstdint>

#include "workloads/plan/model/model_config.hpp"

namespace highwater {

/// Numbers of elements by kind; tied tensors count once.
struct ParameterCount {
  std::int64_t embedding = 0;  ///< token and position tables, T5's relative biases; a tied head
  std::int64_t linear = 0;     ///< weights of projections and routers; an untied head
  std::int64_t norm = 0;       ///< weights and biases of norms
  std::int64_t bias = 0;       ///< of projections

  /// Elements of the weight files that are a buffer in transformers, not a parameter: DeepSeek-V3's
  /// routing bias. Publications count them.
  std::int64_t buffer = 0;

  /// As published.
  [[nodiscard]] std::int64_t total() const { return trainable() + buffer; }

  /// As model.parameters() has them.
  [[nodiscard]] std::int64_t trainable() const { return embedding + linear + norm + bias; }

  bool operator==(const ParameterCount&) const = default;
};

/// @pre model_problems() is empty
inline ParameterCount parameter_count(const ModelConfig& config) {
  return config.family().parameters(config.value());
}

// Parts of the families' formulas.

/// The embedding and the head: untied heads are linear weights.
constexpr ParameterCount vocabulary_parameters(std::int64_t vocab, std::int64_t width, bool tied) {
  return {.embedding = vocab * width, .linear = tied ? 0 : vocab * width};
}

/// Attention and MLP of `layers` layers in which every projection is square but the MLP's, and each
/// layer has `norms` LayerNorms (GPT-2, OPT, BLOOM, GPT-Neo, BioGPT, CodeGen, GPT-J).
constexpr void add_square_layers(ParameterCount& count, std::int64_t layers, std::int64_t hidden,
                                 std::int64_t ffn, std::int64_t norms) {
  count.linear += layers * (4 * hidden * hidden + 2 * hidden * ffn);
  count.norm += layers * norms * 2 * hidden;
}

constexpr std::int64_t attention_weights(std::int64_t hidden, std::int64_t heads,
                                         std::int64_t kv_heads, std::int64_t head_dim) {
  return 2 * hidden * head_dim * (heads + kv_heads);
}

constexpr std::int64_t gated_mlp_weights(std::int64_t hidden, std::int64_t ffn) {
  return 3 * hidden * ffn;
}

}  // namespace highwater
