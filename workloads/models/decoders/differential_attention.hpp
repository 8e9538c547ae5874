// Differential attention (DiffLlama, arXiv:2410.05258): what a second attention sees is subtracted.
#pragma once

#include "workloads/models/decoders/self_attention.hpp"

namespace highwater::models {

/// DiffLlamaAttention (transformers 5.23): both attentions share queries and keys, and each has one
/// half of the values.
class DifferentialAttention : public SelfAttention {
 public:
  DifferentialAttention(Module* parent, std::int64_t layer, const LlamaConfig& config);

 private:
  AttentionResult attend(HeadStates& states, const Tensor& mask) const override;

  /// The share that is taken, and what it is made of.
  struct Shares {
    Tensor first;
    Tensor second;
    Tensor whole;
  };

  [[nodiscard]] Shares shares(DType type) const;
  [[nodiscard]] Tensor share(const Tensor& queries, const Tensor& keys, DType type) const;

  bool has_host_shares_;
  Tensor query_shares_[2];  ///< lambda_q1 and lambda_q2
  Tensor key_shares_[2];
};

}  // namespace highwater::models
