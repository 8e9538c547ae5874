// What Megatron-Core's TransformerConfig and GPTModel need to know about a model. The families that
// it can express say how (Family::to_megatron).
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/plan/model/model_config.hpp"

namespace highwater::megatron {

/// MLATransformerConfig (--multi-latent-attention, with --qk-layernorm): queries, and keys with
/// values, pass low ranks with norms of their own.
struct LatentAttention {
  std::int64_t query_rank = 0;  ///< q_lora_rank; 0: one full projection
  std::int64_t rank = 0;        ///< kv_lora_rank
  std::int64_t plain_dim = 0;   ///< qk_head_dim, columns of a head without positions
  std::int64_t rotary_dim = 0;  ///< qk_pos_emb_head_dim
  std::int64_t value_dim = 0;   ///< v_head_dim

  bool operator==(const LatentAttention&) const = default;
};

/// How a router makes weights of its logits.
enum class RouterScores : std::uint8_t {
  softmax_of_chosen,
  softmax_of_all,  ///< --moe-router-pre-softmax
  sigmoid          ///< --moe-router-score-function sigmoid, with --moe-router-enable-expert-bias
};

/// TopKRouter's part of TransformerConfig.
struct RouterConfig {
  RouterScores scores = RouterScores::softmax_of_chosen;
  std::int64_t groups = 1;         ///< moe_router_num_groups
  std::int64_t chosen_groups = 1;  ///< moe_router_group_topk
  bool scales = false;             ///< moe_router_topk_scaling_factor is given

  bool operator==(const RouterConfig&) const = default;
};

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
  RouterConfig router;
  std::int64_t shared_ffn = 0;    ///< moe_shared_expert_intermediate_size; 0: no shared experts
  std::int64_t dense_layers = 0;  ///< moe_layer_freq: the first layers, which have an MLP instead
  std::int64_t dense_ffn = 0;     ///< ffn_hidden_size of these
  bool qk_norm = false;           ///< qk_layernorm
  std::optional<LatentAttention> latent;
  double hidden_dropout = 0.0;
  double attention_dropout = 0.0;

  bool operator==(const Config&) const = default;
};

/// Whether `layer`, counted from the first of the model, has a mixture.
constexpr bool has_experts(const Config& config, std::int64_t layer) {
  return config.experts > 0 && layer >= config.dense_layers;
}

/// `model` in Megatron-Core's terms; absent if no GPTModel matches it.
std::optional<Config> config_of(const ModelConfig& model);

/// `vocab` rounded up so that each of `tp` ranks gets a multiple of `divisor`
/// (tokenizer.py: _vocab_size_with_padding).
constexpr std::int64_t padded_vocab(std::int64_t vocab, std::int64_t divisor, int tp) {
  const std::int64_t multiple = divisor * tp;
  return (vocab + multiple - 1) / multiple * multiple;
}

}  // namespace highwater::megatron
