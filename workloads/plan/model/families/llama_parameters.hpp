// How many parameters LLaMA and the decoders that share its forward have, by the facts of their
// code.
#pragma once

#include "workloads/plan/model/families/llama_config.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

/// The elements of one norm of `width`.
inline std::int64_t norm_elements(NormKind kind, std::int64_t width) {
  switch (kind) {
    case NormKind::layer:
    case NormKind::layer_1p:
      return 2 * width;
    case NormKind::layer_plain:
    case NormKind::power_plain:
      return 0;
    default:
      return width;
  }
}

/// The elements of the norms of queries and keys of one layer.
inline std::int64_t qk_norm_elements(const LlamaConfig& c) {
  const bool covers_heads = qk_norm_of(c) == QkNorm::whole || qk_norm_of(c) == QkNorm::per_head;
  const std::int64_t heads = covers_heads ? c.num_attention_heads : 1;
  const std::int64_t kv_heads = covers_heads ? kv_heads_of(c) : 1;
  return qk_norm_of(c) == QkNorm::none
             ? 0
             : norm_elements(c.code->attention.qk_norm.kind, heads * head_dim_of(c)) +
                   norm_elements(c.code->attention.qk_norm.kind, kv_heads * head_dim_of(c));
}

inline bool has_output_bias(const LlamaConfig& c) {
  return c.attention_out_bias ||
         (c.attention_bias && c.code->attention.projection.biases == AttentionBiases::configured);
}

/// Whatever a configuration says.
inline bool always_has_qkv_bias(const LlamaCode& code) {
  return code.attention.projection.biases == AttentionBiases::always_but_output;
}

inline bool has_qkv_bias(const LlamaConfig& c) {
  return c.attention_bias || always_has_qkv_bias(*c.code);
}

inline std::int64_t llama_biases_per_layer(const LlamaConfig& c) {
  const std::int64_t qkv = head_dim_of(c) * (c.num_attention_heads + 2 * kv_heads_of(c));
  const std::int64_t widened = (c.code->mlp.kind == MlpKind::plain ? 1 : 2) * c.intermediate_size;
  const std::int64_t gates =
      c.code->attention.gate == AttentionGate::biased ? c.num_attention_heads : 0;
  const std::int64_t shares =
      c.code->attention.kind == AttentionKind::differential ? 4 * head_dim_of(c) : 0;
  const std::int64_t activation = c.hidden_act == Activation::xielu ? 2 : 0;
  return gates + shares + activation + (has_qkv_bias(c) ? qkv : 0) +
         (has_output_bias(c) ? c.hidden_size : 0) + (c.mlp_bias ? widened + c.hidden_size : 0);
}

/// Norms of a block: each of the four places that has a name.
inline std::int64_t norms_per_layer(const LlamaConfig& c) {
  const BlockNorms norms = norms_of(c);
  const auto has = [](const char* name) { return std::int64_t{name != nullptr}; };
  return has(norms.before_attention) + has(norms.after_attention) + has(norms.before_mlp) +
         has(norms.after_mlp);
}

/// Weights of one mixture: gate, experts, shared experts and what opens them.
inline std::int64_t mixture_weights(const LlamaConfig& c) {
  const std::int64_t shared =
      c.shared_expert_intermediate_size + c.n_shared_experts * expert_width(c);
  return c.num_experts * (c.hidden_size + gated_mlp_weights(c.hidden_size, expert_width(c))) +
         gated_mlp_weights(c.hidden_size, shared) +
         (c.shared_expert_intermediate_size > 0 ? c.hidden_size : 0);
}

/// What AFMoE adds to its experts' scores, a number for each expert.
inline std::int64_t score_biases(const LlamaConfig& c) {
  std::int64_t biases = 0;
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    const bool has_bias =
        c.code->mixture.gate == ExpertGateCode::scaled_sigmoid && is_mixture(c, layer);
    biases += has_bias ? c.num_experts : 0;
  }
  return biases;
}

/// Weights of the feed-forward parts of all layers.
inline std::int64_t feed_forward_weights(const LlamaConfig& c) {
  const std::int64_t matrices = c.code->mlp.kind == MlpKind::plain ? 2 : 3;
  std::int64_t weights = 0;
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    weights +=
        is_mixture(c, layer) ? mixture_weights(c) : matrices * c.hidden_size * dense_width(c);
  }
  return weights;
}

/// Projections of queries, keys, values and outputs of all layers.
inline std::int64_t all_attention_weights(const LlamaConfig& c) {
  std::int64_t columns = 0;
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    const std::int64_t keys = head_dim_of(c, layer);
    const std::int64_t head = keys + c.v_head_dim.value_or(keys);
    columns += head * (c.num_attention_heads + kv_heads_of(c, layer));
  }
  return columns * c.hidden_size;
}

/// The norms of queries and keys where heads differ by layer.
inline std::int64_t kinds_of_qk_norms(const LlamaConfig& c) {
  std::int64_t elements = 0;
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    elements += 2 * head_dim_of(c, layer);
  }
  return elements;
}

/// Gemma 4's embedding for each layer, what projects it, and what takes it in.
inline void add_layer_inputs(ParameterCount& count, const LlamaConfig& c) {
  if (c.layer_input_width > 0) {
    const std::int64_t all = c.num_hidden_layers * c.layer_input_width;
    count.embedding += c.layer_input_vocab * all;
    count.linear += 3 * c.hidden_size * all;
    count.norm += c.layer_input_width + c.num_hidden_layers * c.hidden_size;
  }
}

inline std::int64_t all_sinks(const LlamaConfig& c) {
  std::int64_t sinks = 0;
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    sinks += has_sinks(c, layer) ? c.num_attention_heads : 0;
  }
  return sinks;
}

inline ParameterCount llama_parameters(const LlamaConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.linear += all_attention_weights(c);
  count.bias = all_sinks(c);
  count.linear += feed_forward_weights(c);
  count.linear +=
      c.code->attention.gate == AttentionGate::none
          ? 0
          : c.num_hidden_layers * c.hidden_size * c.num_attention_heads * head_dim_of(c);
  count.bias += c.num_hidden_layers * llama_biases_per_layer(c) + score_biases(c);
  count.bias += c.code->head.has_bias ? c.vocab_size : 0;
  count.bias += c.code->attention.kind == AttentionKind::baddbmm ? c.hidden_size : 0;
  count.norm = (norms_per_layer(c) * c.num_hidden_layers + 1) *
               norm_elements(c.code->block.norm, c.hidden_size);
  count.norm +=
      c.global_head_dim ? kinds_of_qk_norms(c) : c.num_hidden_layers * qk_norm_elements(c);
  add_layer_inputs(count, c);
  count.norm +=
      c.code->block.has_sub_norms ? c.num_hidden_layers * (c.hidden_size + c.intermediate_size) : 0;
  return count;
}

}  // namespace highwater
