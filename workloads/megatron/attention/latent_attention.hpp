// Multi-head latent attention: queries, and keys with values, pass low ranks.
// Source: Megatron-Core 0.16.1, core/transformer/multi_latent_attention.py and
// core/fusions/fused_mla_yarn_rope_apply.py, with Transformer Engine's layers.
#pragma once

#include <memory>

#include "workloads/megatron/attention/attention_part.hpp"
#include "workloads/megatron/attention/core_attention.hpp"
#include "workloads/megatron/attention/yarn_tables.hpp"
#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/recomputation.hpp"

namespace highwater::megatron {

class LatentSelfAttention : public AttentionPart {
 public:
  LatentSelfAttention(nn::Module* parent, const LayerContext& shared);

  WithBias operator()(Tensor hidden_states, const Tensor& frequencies) const override;

 private:
  [[nodiscard]] QueryKeyValue projected(const Tensor& hidden_states, Tensor& latent,
                                        CheckpointWithoutOutput& checkpoint) const;

  /// What the low ranks become: queries' own, that of keys and values, positions of keys.
  struct Compressed {
    Tensor query;
    Tensor latent;
    Tensor positions;
  };

  [[nodiscard]] QueryKeyValue up_projected(const Compressed& in,
                                           const YarnTables::CosSin& tables) const;
  [[nodiscard]] Tensor attend(const QueryKeyValue& states) const;
  [[nodiscard]] std::unique_ptr<SplitLinear> make_down(const char* name, std::int64_t out);
  [[nodiscard]] std::unique_ptr<SplitLinear> make_up(const char* name, LinearSize size);

  LayerContext shared_;
  const LatentAttention& sizes_;
  std::int64_t heads_;  ///< of this rank
  std::unique_ptr<SplitLinear> linear_proj_;
  mutable std::unique_ptr<YarnTables> tables_;
  std::unique_ptr<SplitLinear> linear_q_;       ///< null with a low rank of queries
  std::unique_ptr<SplitLinear> linear_q_down_;  ///< null without one
  std::unique_ptr<SplitLinear> linear_q_up_;
  std::unique_ptr<SplitLinear> linear_kv_down_;
  std::unique_ptr<SplitLinear> linear_kv_up_;
};

}  // namespace highwater::megatron
