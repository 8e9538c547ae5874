// The attention of LLaMA and its relatives, by the facts of their code.
#pragma once

#include <memory>

#include "workloads/models/attention.hpp"
#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/rotation.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

class SelfAttention : public Module {
 public:
  SelfAttention(Module* parent, std::int64_t layer, const LlamaConfig& config);

  AttentionResult operator()(Tensor hidden_states, const BlockInputs& inputs) const;

 private:
  void make_projections();
  void make_output();
  void make_norms();
  [[nodiscard]] HeadStates project(const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates project_apart(const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates project_columns(const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates project_head_parts(const Tensor& hidden_states) const;
  [[nodiscard]] Tensor heads_of(const Tensor& projected) const;
  void normalize(HeadStates& states) const;
  [[nodiscard]] Tensor project_one(const nn::Linear& projection, const Norm* norm,
                                   const Tensor& hidden_states) const;
  [[nodiscard]] HeadStates with_heads(HeadStates states) const;
  [[nodiscard]] AttentionResult attend(const HeadStates& states, const Tensor& mask) const;

  LlamaConfig config_;
  const LlamaCode& code_;
  QkNorm qk_norm_;
  bool is_rotated_;
  std::int64_t head_dim_;
  std::unique_ptr<nn::Linear> q_proj_;  ///< or the one projection of all three
  std::unique_ptr<nn::Linear> k_proj_;
  std::unique_ptr<nn::Linear> v_proj_;
  std::unique_ptr<nn::Linear> o_proj_;
  std::unique_ptr<Norm> q_norm_;
  std::unique_ptr<Norm> k_norm_;
  std::unique_ptr<Norm> sub_norm_;  ///< before the output
};

}  // namespace highwater::models
