// The attention of LLaMA and its relatives, by the facts of their code.
#pragma once

#include <memory>

#include "workloads/models/attention.hpp"
#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/rotation.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

class SelfAttention : public DecoderAttention {
 public:
  SelfAttention(Module* parent, std::int64_t layer, const LlamaConfig& config);

  AttentionResult operator()(Tensor hidden_states, const BlockInputs& inputs) const override;

 protected:
  /// From queries, keys and values to the output, [batch, seq, heads, head_dim].
  virtual AttentionResult attend(HeadStates& states, const Tensor& mask) const;

  /// The attention function of the plan.
  [[nodiscard]] AttentionResult attend_to(const Tensor& query, const Tensor& key,
                                          const Tensor& value, const Tensor& mask) const;

 private:
  void make_projections();
  void make_output();
  void make_norms();
  void make_gate();

  [[nodiscard]] bool views_heads_together() const {
    return code_.projection.heads == HeadsViewed::together;
  }

  [[nodiscard]] HeadStates project(const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates project_apart(const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates project_columns(const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates slice_head_parts(const Tensor& projected) const;
  [[nodiscard]] HeadStates project_head_parts(const Tensor& hidden_states) const;
  [[nodiscard]] Tensor heads_of(const Tensor& projected, std::int64_t head_dim) const;
  [[nodiscard]] Tensor heads_of(const Tensor& projected) const;
  [[nodiscard]] Tensor opened(HeadStates& states, const Tensor& output, const Tensor& input) const;
  void normalize(HeadStates& states) const;
  static void scale_queries(HeadStates& states, const Tensor& scale);
  [[nodiscard]] Tensor project_one(const nn::Linear& projection, const Norm* norm,
                                   const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates with_heads(HeadStates states) const;

  LlamaConfig config_;
  const AttentionCode& code_;
  QkNorm qk_norm_;
  bool is_rotated_;
  bool has_sinks_;
  std::int64_t kv_heads_;
  std::int64_t head_dim_;
  std::int64_t value_dim_;
  std::unique_ptr<nn::Linear> q_proj_;  ///< or the one projection of all three
  std::unique_ptr<nn::Linear> k_proj_;
  std::unique_ptr<nn::Linear> v_proj_;
  std::unique_ptr<nn::Linear> o_proj_;
  std::unique_ptr<Norm> q_norm_;
  std::unique_ptr<Norm> k_norm_;
  std::unique_ptr<Norm> sub_norm_;  ///< before the output
  std::unique_ptr<nn::Linear> gate_proj_;
  Tensor gate_bias_;
  Tensor sinks_;
};

}  // namespace highwater::models
