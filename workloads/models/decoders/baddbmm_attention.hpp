// Attention whose scores are added to zeros by baddbmm, and a bias that its block adds
// (GPTNeoXJapaneseAttention of transformers 5.23).
#pragma once

#include "workloads/models/decoders/self_attention.hpp"

namespace highwater::models {

class BaddbmmAttention : public SelfAttention {
 public:
  BaddbmmAttention(Module* parent, std::int64_t layer, const LlamaConfig& config);

  [[nodiscard]] Tensor output_bias() const override { return dense_bias_; }

 private:
  AttentionResult attend(HeadStates& states, const Tensor& mask) const override;

  double dropout_;
  Tensor dense_bias_;  ///< of the last layer only
};

}  // namespace highwater::models
