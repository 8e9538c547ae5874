// A dropout that only some of LLaMA's relatives have.
//
// Where a family's configuration has no field for it, its code has no such call, so that neither a
// plan's own probability nor a framework that wraps F.dropout changes anything there.
#pragma once

#include <algorithm>
#include <optional>

#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

class FamilyDropout {
 public:
  /// None; the code has the call somewhere else.
  FamilyDropout() = default;

  /// The dropout of `role`, whose probability is `p`.
  FamilyDropout(const LlamaConfig& config, FieldRole role, double p) {
    const auto has_role = [role](const ConfigField& field) { return field.role == role; };
    if (std::ranges::any_of(config.code->family().fields, has_role)) {
      p_ = p;
    }
  }

  [[nodiscard]] nn::Tensor operator()(const nn::ModelContext& context, const nn::Tensor& x) const {
    return p_ ? nn::functional_dropout(context, x, *p_) : x;
  }

 private:
  std::optional<double> p_;
};

/// Behind the attention and the feed-forward part, where the code has it at their own ends.
inline FamilyDropout output_dropout(const LlamaConfig& config) {
  return config.code->block.dropout == ResidualDropout::ends_the_part
             ? FamilyDropout(config, FieldRole::residual_dropout, config.residual_dropout)
             : FamilyDropout();
}

/// The same, where a block has it before its sums.
inline FamilyDropout block_dropout(const LlamaConfig& config) {
  return config.code->block.dropout == ResidualDropout::ends_the_part
             ? FamilyDropout()
             : FamilyDropout(config, FieldRole::residual_dropout, config.residual_dropout);
}

}  // namespace highwater::models
