// How many parameters a model has, from closed formulas: one per family, from the papers' and model
// cards' inventories of tensors, with nothing of the code that builds modules. So its agreement
// with the parameter blocks that a simulated model allocates means something.
#pragma once

#include <cstdint>

#include "workloads/plan/model/model_spec.hpp"

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
ParameterCount parameter_count(const ModelConfig& config);

}  // namespace highwater
