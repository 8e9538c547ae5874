// MLP: a layer's second half without experts, and the experts that all tokens share.
// Source: core/transformer/{mlp,moe/shared_experts}.py of Megatron-Core 0.16.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/moe/feed_forward.hpp"

namespace highwater::megatron {

/// Who normalizes an MLP's input.
enum class MlpInput : std::uint8_t {
  states,     ///< its first layer, where that is Transformer Engine's
  normalized  ///< somebody else: shared experts
};

class Mlp : public FeedForward {
 public:
  /// Of `width` inner columns on all ranks together.
  Mlp(nn::Module* parent, std::string name, const LayerContext& shared, std::int64_t width,
      MlpInput input);

  WithBias operator()(Tensor hidden_states) const override;

 private:
  [[nodiscard]] Tensor activated(const Tensor& hidden_states) const;

  bool gated_;
  std::unique_ptr<SplitLinear> linear_fc1_;
  std::unique_ptr<SplitLinear> linear_fc2_;
};

}  // namespace highwater::megatron
