// Self-attention of a layer, split by heads: one projection to queries, keys and values by group,
// the core, one projection back. Source: core/transformer/attention.py of Megatron-Core 0.16.1.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/megatron/attention/attention_part.hpp"
#include "workloads/megatron/attention/core_attention.hpp"
#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/megatron/layers/norm.hpp"

namespace highwater::megatron {

class SelfAttention : public AttentionPart {
 public:
  SelfAttention(nn::Module* parent, const LayerContext& shared);

  WithBias operator()(Tensor hidden_states, const Tensor& frequencies) const override;

 private:
  [[nodiscard]] QueryKeyValue split(const Tensor& hidden_states) const;

  [[nodiscard]] Tensor embed_positions(const Tensor& states, const Tensor& frequencies) const;

  [[nodiscard]] Tensor run_core(const QueryKeyValue& states) const;

  [[nodiscard]] bool takes_cudnn() const;

  // recompute_granularity selective, recompute_modules core_attn.
  [[nodiscard]] Tensor core_attention(const QueryKeyValue& states) const;

  LayerContext shared_;
  std::int64_t head_dim_;
  std::int64_t groups_;
  std::int64_t per_group_;
  std::unique_ptr<SplitLinear> linear_proj_;
  std::unique_ptr<SplitLinear> linear_qkv_;
  std::unique_ptr<Norm> q_layernorm_;  ///< null without qk_layernorm
  std::unique_ptr<Norm> k_layernorm_;
};

}  // namespace highwater::megatron
