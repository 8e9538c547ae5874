#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {
namespace {

/// The embedding and the head: untied heads are linear weights.
ParameterCount vocabulary(std::int64_t vocab, std::int64_t width, bool tied) {
  return {.embedding = vocab * width, .linear = tied ? 0 : vocab * width};
}

/// Attention and MLP of `layers` layers in which every projection is square but the MLP's, and each
/// layer has `norms` LayerNorms (GPT-2, OPT, BLOOM, GPT-Neo, BioGPT, CodeGen, GPT-J).
void add_square_layers(ParameterCount& count, std::int64_t layers, std::int64_t hidden,
                       std::int64_t ffn, std::int64_t norms) {
  count.linear += layers * (4 * hidden * hidden + 2 * hidden * ffn);
  count.norm += layers * norms * 2 * hidden;
}

std::int64_t attention_weights(std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                               std::int64_t head_dim) {
  return 2 * hidden * head_dim * (heads + kv_heads);
}

std::int64_t gated_mlp(std::int64_t hidden, std::int64_t ffn) {
  return 3 * hidden * ffn;
}

ParameterCount count_of(const Gpt2Config& c) {
  const std::int64_t ffn = inner_dim_of(c);
  ParameterCount count = vocabulary(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  count.embedding += c.n_positions * c.n_embd;
  add_square_layers(count, c.n_layer, c.n_embd, ffn, 2);
  count.bias += c.n_layer * (5 * c.n_embd + ffn);
  count.norm += 2 * c.n_embd;
  return count;
}

ParameterCount count_of(const OptConfig& c) {
  constexpr std::int64_t kPositionOffset = 2;
  const std::int64_t width = word_embed_dim_of(c);
  const bool final_norm = c.do_layer_norm_before && !c.remove_final_layer_norm;
  ParameterCount count = vocabulary(c.vocab_size, width, c.tie_word_embeddings);
  count.embedding += (c.max_position_embeddings + kPositionOffset) * c.hidden_size;
  count.linear += width == c.hidden_size ? 0 : 2 * width * c.hidden_size;
  add_square_layers(count, c.num_hidden_layers, c.hidden_size, c.ffn_dim, 2);
  count.norm += final_norm ? 2 * c.hidden_size : 0;
  count.norm = c.layer_norm_elementwise_affine ? count.norm : 0;
  count.bias = c.enable_bias ? c.num_hidden_layers * (5 * c.hidden_size + c.ffn_dim) : 0;
  return count;
}

ParameterCount count_of(const BloomConfig& c) {
  const std::int64_t ffn = 4 * c.hidden_size;
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  add_square_layers(count, c.n_layer, c.hidden_size, ffn, 2);
  count.bias = c.n_layer * (5 * c.hidden_size + ffn);
  count.norm += 2 * 2 * c.hidden_size;  // after the embedding and at the end
  return count;
}

ParameterCount count_of(const GptNeoConfig& c) {
  const std::int64_t ffn = inner_dim_of(c);
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.embedding += c.max_position_embeddings * c.hidden_size;
  add_square_layers(count, c.num_layers, c.hidden_size, ffn, 2);
  count.bias = c.num_layers * (2 * c.hidden_size + ffn);  // none on q, k, v
  count.norm += 2 * c.hidden_size;
  return count;
}

/// CodeGen and GPT-J: one norm before attention and MLP in parallel, a head with bias.
template <class Config>
ParameterCount count_of_parallel_block(const Config& c) {
  const std::int64_t ffn = inner_dim_of(c);
  ParameterCount count = vocabulary(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  add_square_layers(count, c.n_layer, c.n_embd, ffn, 1);
  count.bias = c.n_layer * (c.n_embd + ffn) + c.vocab_size;
  count.norm += 2 * c.n_embd;
  return count;
}

ParameterCount count_of(const CodegenConfig& c) {
  return count_of_parallel_block(c);
}

ParameterCount count_of(const GptJConfig& c) {
  return count_of_parallel_block(c);
}

ParameterCount count_of(const BioGptConfig& c) {
  constexpr std::int64_t kPositionOffset = 2;
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.embedding += (c.max_position_embeddings + kPositionOffset) * c.hidden_size;
  add_square_layers(count, c.num_hidden_layers, c.hidden_size, c.intermediate_size, 2);
  count.bias = c.num_hidden_layers * (5 * c.hidden_size + c.intermediate_size);
  count.norm += 2 * c.hidden_size;
  return count;
}

ParameterCount count_of(const GptBigCodeConfig& c) {
  const std::int64_t ffn = inner_dim_of(c);
  const std::int64_t qkv = c.n_embd + 2 * kv_heads_of(c) * (c.n_embd / c.n_head);
  ParameterCount count = vocabulary(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  count.embedding += c.n_positions * c.n_embd;
  count.linear += c.n_layer * (c.n_embd * (qkv + c.n_embd) + 2 * c.n_embd * ffn);
  count.bias = c.n_layer * (qkv + 2 * c.n_embd + ffn);
  count.norm = (2 * c.n_layer + 1) * 2 * c.n_embd;
  return count;
}

std::int64_t biases_per_layer(const LlamaConfig& c) {
  const std::int64_t qkv = head_dim_of(c) * (c.num_attention_heads + 2 * kv_heads_of(c));
  const std::int64_t mlp = c.mlp_bias ? 2 * c.intermediate_size + c.hidden_size : 0;
  if (always_has_qkv_bias(c.family)) {
    return qkv + mlp;
  }
  return mlp + (c.attention_bias ? qkv + c.hidden_size : 0);
}

ParameterCount count_of(const LlamaConfig& c) {
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.linear += c.num_hidden_layers * (attention_weights(c.hidden_size, c.num_attention_heads,
                                                           kv_heads_of(c), head_dim_of(c)) +
                                         gated_mlp(c.hidden_size, c.intermediate_size));
  count.bias = c.num_hidden_layers * biases_per_layer(c);
  count.norm = (2 * c.num_hidden_layers + 1) * c.hidden_size;
  count.norm += has_qk_norm(c.family) ? c.num_hidden_layers * 2 * head_dim_of(c) : 0;
  return count;
}

ParameterCount count_of(const MixtralConfig& c) {
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.linear +=
      c.num_hidden_layers *
      (attention_weights(c.hidden_size, c.num_attention_heads, kv_heads_of(c), head_dim_of(c)) +
       c.num_local_experts * (c.hidden_size + gated_mlp(c.hidden_size, c.intermediate_size)));
  count.norm = (2 * c.num_hidden_layers + 1) * c.hidden_size;
  return count;
}

/// Multi-head latent attention: queries and the shared key-value latent each pass a low rank.
void add_latent_attention(ParameterCount& count, const DeepseekV3Config& c) {
  const std::int64_t heads = c.num_attention_heads;
  const std::int64_t query = heads * (c.qk_nope_head_dim + c.qk_rope_head_dim);
  const std::int64_t q_rank = c.q_lora_rank.value_or(0);
  const std::int64_t latent = c.kv_lora_rank + c.qk_rope_head_dim;
  const std::int64_t key_value = heads * (c.qk_nope_head_dim + c.v_head_dim);
  const std::int64_t q_weights =
      c.q_lora_rank ? q_rank * (c.hidden_size + query) : c.hidden_size * query;
  const std::int64_t weights = q_weights + c.hidden_size * latent + c.kv_lora_rank * key_value +
                               heads * c.v_head_dim * c.hidden_size;
  count.linear += c.num_hidden_layers * weights;
  count.norm += c.num_hidden_layers * (q_rank + c.kv_lora_rank);
  count.bias += c.attention_bias ? c.num_hidden_layers * (q_rank + latent + c.hidden_size) : 0;
}

ParameterCount count_of(const DeepseekV3Config& c) {
  const std::int64_t dense = c.first_k_dense_replace;
  const std::int64_t sparse = c.num_hidden_layers - dense;
  const std::int64_t experts = c.n_routed_experts + c.n_shared_experts;
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  add_latent_attention(count, c);
  count.linear += dense * gated_mlp(c.hidden_size, c.intermediate_size);
  count.linear += sparse * (c.n_routed_experts * c.hidden_size +
                            experts * gated_mlp(c.hidden_size, c.moe_intermediate_size));
  count.norm += (2 * c.num_hidden_layers + 1) * c.hidden_size;
  count.buffer = sparse * c.n_routed_experts;
  return count;
}

ParameterCount count_of(const T5Config& c) {
  const std::int64_t decoders = decoder_layers_of(c);
  const std::int64_t attention = 4 * c.d_model * c.num_heads * c.d_kv;
  const std::int64_t mlp = (c.is_gated_act ? 3 : 2) * c.d_model * c.d_ff;
  return {
      .embedding = c.vocab_size * c.d_model + 2 * c.relative_attention_num_buckets * c.num_heads,
      .linear = c.num_layers * (attention + mlp) + decoders * (2 * attention + mlp),
      .norm = (2 * c.num_layers + 3 * decoders + 2) * c.d_model};
}

ParameterCount count_of(const GptNextConfig& c) {
  ParameterCount count = vocabulary(c.vocab_size, c.hidden_size, false);
  count.linear += c.num_layers *
                  (4 * c.hidden_size * c.hidden_size + gated_mlp(c.hidden_size, c.ffn_hidden_size));
  count.norm = (2 * c.num_layers + 1) * 2 * c.hidden_size;
  return count;
}

ParameterCount count_of(const PlainConfig& c) {
  ParameterCount count = vocabulary(c.vocab, c.dim, false);
  count.linear += c.layers * (attention_weights(c.dim, c.heads, c.kv_heads, c.dim / c.heads) +
                              gated_mlp(c.dim, c.ffn));
  count.norm = (2 * c.layers + 1) * c.dim;
  return count;
}

}  // namespace

ParameterCount parameter_count(const ModelConfig& config) {
  return std::visit([](const auto& family) { return count_of(family); }, config);
}

}  // namespace highwater
