// Gemma4TextAttention (transformers 5.23, 5.24): values pass a norm, heads are wider in layers
// without a window, and queries are done before keys and values begin. Since 5.24 the last layer of
// each kind leaves its keys and values behind, for models that reuse them.
#pragma once

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

class Gemma4Attention : public DecoderAttention {
 public:
  Gemma4Attention(Module* parent, std::int64_t layer, const LlamaConfig& config);

  AttentionResult operator()(Tensor hidden_states, const BlockInputs& inputs) const override;

 private:
  [[nodiscard]] Tensor heads(const Tensor& projected) const;
  [[nodiscard]] Tensor turned(const Tensor& states, const CosSin& positions) const;

  void leave_behind(const BlockInputs& inputs, const Tensor& key, const Tensor& value) const;

  LlamaConfig config_;
  bool stores_;  ///< kv_sharing_modes[layer] == "store"
  std::int64_t head_dim_;
  nn::Linear q_proj_;
  Norm q_norm_;
  Norm k_norm_;
  Norm v_norm_;
  nn::Linear k_proj_;
  nn::Linear v_proj_;
  nn::Linear o_proj_;
};

}  // namespace highwater::models
