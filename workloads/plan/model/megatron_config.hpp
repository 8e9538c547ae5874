// What Megatron-Core's TransformerConfig and GPTModel need to know about a model. The families that
// it can express say how (Family::to_megatron).
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/plan/model/model_config.hpp"

namespace highwater::megatron {

/// transformer_config.py: TransformerConfig, and arguments of GPTModel.
struct Config {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;   ///< num_query_groups
  std::int64_t head_dim = 0;   ///< kv_channels
  std::int64_t ffn = 0;        ///< ffn_hidden_size
  std::int64_t vocab = 0;      ///< before padding
  std::int64_t positions = 0;  ///< of the table of learned positions; 0: rope
  bool rms_norm = false;       ///< normalization="RMSNorm"
  bool gated = false;          ///< gated_linear_unit with silu; else gelu
  bool linear_bias = false;    ///< add_bias_linear
  bool qkv_bias = false;       ///< add_qkv_bias, or add_bias_linear
  bool tied = false;           ///< share_embeddings_and_output_weights
  std::int64_t experts = 0;    ///< num_moe_experts; 0: no mixture, else `ffn` is that of an expert
  std::int64_t top_k = 0;      ///< moe_router_topk
  double hidden_dropout = 0.0;
  double attention_dropout = 0.0;

  bool operator==(const Config&) const = default;
};

/// `model` in Megatron-Core's terms; absent if no GPTModel matches it.
std::optional<Config> config_of(const ModelConfig& model);

/// `vocab` rounded up so that each of `tp` ranks gets a multiple of `divisor`
/// (tokenizer.py: _vocab_size_with_padding).
constexpr std::int64_t padded_vocab(std::int64_t vocab, std::int64_t divisor, int tp) {
  const std::int64_t multiple = divisor * tp;
  return (vocab + multiple - 1) / multiple * multiple;
}

}  // namespace highwater::megatron
