// LlamaConfig: the configuration of LLaMA and of the decoders that share its forward, restricted to
// the fields that decide allocations, and what follows from it and from the family's code: windows,
// rotated layers, mixtures, norms.
#pragma once

#include <algorithm>

#include "workloads/plan/model/decoder/decoder_code.hpp"
#include "workloads/plan/model/families/rope_decoder.hpp"

namespace highwater {

const Family& llama_family();

inline constexpr LlamaCode kLlamaCode{.family = llama_family};

struct LlamaConfig {
  const LlamaCode* code = &kLlamaCode;
  std::int64_t vocab_size = 32000;
  std::int64_t hidden_size = 4096;
  std::int64_t intermediate_size = 11008;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  std::optional<std::int64_t> num_key_value_heads;  ///< absent: num_attention_heads
  std::optional<std::int64_t> head_dim;             ///< absent: hidden_size / heads
  Activation hidden_act = Activation::silu;
  std::int64_t max_position_embeddings = 2048;
  std::optional<std::int64_t> pad_token_id;
  bool tie_word_embeddings = false;
  RopeParameters rope_parameters;
  bool attention_bias = false;      ///< q, k, v and o
  bool attention_out_bias = false;  ///< o where attention_bias is that of q, k and v: Seed-OSS
  bool mlp_bias = false;
  double attention_dropout = 0.0;
  double residual_dropout = 0.0;  ///< behind attention, feed-forward part or both
  double embedding_dropout = 0.0;
  std::optional<std::int64_t> sliding_window;  ///< mistral: all layers; qwen: see window_of()
  bool use_sliding_window = false;             ///< qwen2, qwen3
  std::int64_t max_window_layers = 28;         ///< qwen2, qwen3: first layer with the window
  std::vector<bool> sliding_layers;            ///< `layer_types`; empty: by the code's rule
  std::vector<bool> rotated_layers;         ///< smollm3: `no_rope_layers`; empty: by the interval
  std::int64_t no_rope_layer_interval = 4;  ///< smollm3
  bool use_parallel_residual = false;       ///< gpt_neox, stablelm
  bool use_post_norm = true;                ///< hyperclovax
  bool use_qk_norm = false;                 ///< cohere, phi, stablelm, glm4_moe
  std::optional<double> clip_qkv;           ///< olmo
  std::int64_t num_experts = 0;             ///< of a mixture, as the members that follow
  std::int64_t num_experts_per_tok = 0;
  std::optional<std::int64_t> moe_intermediate_size;  ///< absent: intermediate_size
  bool norm_topk_prob = false;
  std::int64_t shared_expert_intermediate_size = 0;  ///< qwen2_moe
  std::int64_t n_shared_experts = 0;                 ///< glm4_moe and others
  bool averages_shared_experts = false;         ///< cohere2_moe: with the result of the chosen ones
  bool scores_by_sigmoid = false;               ///< cohere2_moe: the chosen experts'
  std::optional<std::int64_t> global_head_dim;  ///< gemma4: of layers without a window
  std::int64_t layer_input_width = 0;           ///< gemma4_text: 0: layers have no such input
  std::int64_t layer_input_vocab = 0;
  std::optional<std::int64_t> v_head_dim;               ///< mimo_v2_flash: absent: head_dim
  std::optional<std::int64_t> dense_intermediate_size;  ///< of layers without a mixture
  std::int64_t n_group = 1;
  std::int64_t topk_group = 1;
  std::int64_t first_k_dense_replace = 0;
  std::int64_t decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;
  bool output_router_logits = false;
  std::optional<double> final_logit_softcapping;  ///< gemma2
  std::optional<double> attn_logit_softcapping;   ///< gemma2

  bool operator==(const LlamaConfig&) const = default;
};

inline const Family& family_of(const LlamaConfig& config) {
  return config.code->family();
}

/// `no_rope_layers`, or what its interval says.
inline bool is_listed_as_rotated(const LlamaConfig& config, std::int64_t layer) {
  return config.rotated_layers.empty() ? (layer + 1) % config.no_rope_layer_interval != 0
                                       : config.rotated_layers[static_cast<std::size_t>(layer)];
}

/// Whether `layer` is one of those that get the window.
inline bool has_window(const LlamaConfig& config, std::int64_t layer) {
  const WindowCode& code = config.code->windows;
  if (!config.sliding_layers.empty()) {
    return config.sliding_layers[static_cast<std::size_t>(layer)];
  }
  switch (code.layers) {
    case WindowedLayers::none:
      return false;
    case WindowedLayers::all:
    case WindowedLayers::switched:
      return true;
    case WindowedLayers::early_alternate:
      return layer < config.max_window_layers && (layer + 1) % 2 != 0;
    case WindowedLayers::listed:
    case WindowedLayers::late:
      return layer >= config.max_window_layers;
    case WindowedLayers::all_but_nth:
      return (layer + 1) % code.pattern != 0;
    case WindowedLayers::all_but_first_of:
      return layer % code.pattern != 0;
    case WindowedLayers::unrotated:
      return !is_listed_as_rotated(config, layer);
  }
  return false;
}

/// The window of `layer`, absent if it attends to everything before it.
inline std::optional<std::int64_t> window_of(const LlamaConfig& config, std::int64_t layer) {
  const bool is_off = has_switch(config.code->windows.layers) && !config.use_sliding_window;
  return !is_off && has_window(config, layer) ? config.sliding_window : std::nullopt;
}

/// Whether the feed-forward part of `layer` is a mixture.
inline bool is_mixture(const LlamaConfig& config, std::int64_t layer) {
  const bool is_listed_dense =
      std::ranges::find(config.mlp_only_layers, layer) != config.mlp_only_layers.end();
  return config.code->mixture.gate != ExpertGateCode::none && config.num_experts > 0 &&
         layer >= config.first_k_dense_replace && !is_listed_dense &&
         (layer + 1) % config.decoder_sparse_step == 0;
}

/// Whether `layer` turns queries and keys by their positions.
inline bool is_rotated(const LlamaConfig& config, std::int64_t layer) {
  switch (config.code->positions.rotated) {
    case RotatedLayers::all:
      return true;
    case RotatedLayers::listed:
      return is_listed_as_rotated(config, layer);
    case RotatedLayers::windowed:
      return window_of(config, layer).has_value();
    case RotatedLayers::windowed_or_dense:
      return window_of(config, layer).has_value() || !is_mixture(config, layer);
    case RotatedLayers::windowed_if_any:
      return !config.sliding_window || window_of(config, layer).has_value();
  }
  return true;
}

/// The key-value heads of `layer`.
inline std::int64_t kv_heads_of(const LlamaConfig& config, std::int64_t layer) {
  const bool doubles = config.code->attention.heads == KeyValueHeads::doubled_in_windows &&
                       has_window(config, layer);
  return kv_heads_of(config) * (doubles ? 2 : 1);
}

/// The width of a head of `layer`.
inline std::int64_t head_dim_of(const LlamaConfig& config, std::int64_t layer) {
  return config.global_head_dim && !has_window(config, layer) ? *config.global_head_dim
                                                              : head_dim_of(config);
}

/// The width of a head of values.
inline std::int64_t value_dim_of(const LlamaConfig& config) {
  return config.v_head_dim.value_or(head_dim_of(config));
}

/// Whether attention of `layer` has sinks.
inline bool has_sinks(const LlamaConfig& config, std::int64_t layer) {
  const SinkCode sinks = config.code->attention.sinks;
  return sinks == SinkCode::rescaled ||
         (sinks == SinkCode::in_softmax && has_window(config, layer));
}

/// The columns of a head that are turned.
inline std::int64_t rotary_dim_of(const LlamaConfig& config) {
  return static_cast<std::int64_t>(static_cast<double>(head_dim_of(config)) *
                                   config.rope_parameters.partial_rotary_factor);
}

/// The width of a feed-forward part that is no mixture.
inline std::int64_t dense_width(const LlamaConfig& config) {
  return config.dense_intermediate_size.value_or(config.intermediate_size);
}

inline std::int64_t expert_width(const LlamaConfig& config) {
  return config.moe_intermediate_size.value_or(config.intermediate_size);
}

/// The norms of a block. A parallel block has one, StableLM's and GPT-NeoX's by their
/// configuration; HyperCLOVA X has two more if its configuration says so.
inline BlockNorms norms_of(const LlamaConfig& config) {
  const BlockCode& code = config.code->block;
  BlockNorms norms = code.norms;
  if (code.residual == Residual::kept_attention && config.use_parallel_residual) {
    norms.before_mlp = nullptr;
  }
  if (code.post_norms == PostNorms::configured && !config.use_post_norm) {
    norms.after_attention = nullptr;
    norms.after_mlp = nullptr;
  }
  return norms;
}

/// When queries and keys pass a norm; some configurations switch it on.
inline QkNorm qk_norm_of(const LlamaConfig& config) {
  const QkNormCode& code = config.code->attention.qk_norm;
  return code.is_optional && !config.use_qk_norm ? QkNorm::none : code.when;
}

}  // namespace highwater
