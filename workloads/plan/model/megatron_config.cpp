#include "workloads/plan/model/megatron_config.hpp"

#include "workloads/plan/model/overloaded.hpp"

namespace highwater::megatron {
namespace {

Config config_of(const Gpt2Config& gpt2) {
  return {.layers = gpt2.n_layer,
          .hidden = gpt2.n_embd,
          .heads = gpt2.n_head,
          .kv_heads = gpt2.n_head,
          .head_dim = gpt2.n_embd / gpt2.n_head,
          .ffn = inner_dim_of(gpt2),
          .vocab = gpt2.vocab_size,
          .positions = gpt2.n_positions,
          .linear_bias = true,
          .qkv_bias = true,
          .tied = gpt2.tie_word_embeddings,
          .hidden_dropout = gpt2.resid_pdrop,
          .attention_dropout = gpt2.attn_pdrop};
}

std::optional<Config> config_of(const LlamaConfig& llama) {
  if (llama.hidden_act != Activation::silu || has_qk_norm(llama.family) || llama.mlp_bias) {
    return std::nullopt;
  }
  return Config{.layers = llama.num_hidden_layers,
                .hidden = llama.hidden_size,
                .heads = llama.num_attention_heads,
                .kv_heads = kv_heads_of(llama),
                .head_dim = head_dim_of(llama),
                .ffn = llama.intermediate_size,
                .vocab = llama.vocab_size,
                .rms_norm = true,
                .gated = true,
                .qkv_bias = llama.attention_bias || always_has_qkv_bias(llama.family),
                .tied = llama.tie_word_embeddings,
                .attention_dropout = llama.attention_dropout};
}

Config config_of(const PlainConfig& plain) {
  return {.layers = plain.layers,
          .hidden = plain.dim,
          .heads = plain.heads,
          .kv_heads = plain.kv_heads,
          .head_dim = plain.dim / plain.heads,
          .ffn = plain.ffn,
          .vocab = plain.vocab,
          .rms_norm = true,
          .gated = true};
}

Config config_of(const GptNextConfig& next) {
  return {.layers = next.num_layers,
          .hidden = next.hidden_size,
          .heads = next.num_attention_heads,
          .kv_heads = next.num_attention_heads,
          .head_dim = next.hidden_size / next.num_attention_heads,
          .ffn = next.ffn_hidden_size,
          .vocab = next.vocab_size,
          .gated = true,
          .hidden_dropout = next.hidden_dropout,
          .attention_dropout = next.attention_dropout};
}

std::optional<Config> config_of(const MixtralConfig& mixtral) {
  if (mixtral.hidden_act != Activation::silu) {
    return std::nullopt;
  }
  return Config{.layers = mixtral.num_hidden_layers,
                .hidden = mixtral.hidden_size,
                .heads = mixtral.num_attention_heads,
                .kv_heads = kv_heads_of(mixtral),
                .head_dim = head_dim_of(mixtral),
                .ffn = mixtral.intermediate_size,
                .vocab = mixtral.vocab_size,
                .rms_norm = true,
                .gated = true,
                .tied = mixtral.tie_word_embeddings,
                .experts = mixtral.num_local_experts,
                .top_k = mixtral.num_experts_per_tok,
                .attention_dropout = mixtral.attention_dropout};
}

}  // namespace

std::optional<Config> config_of(const ModelConfig& model) {
  using Found = std::optional<Config>;
  return std::visit(Overloaded{[](const Gpt2Config& config) { return Found(config_of(config)); },
                               [](const LlamaConfig& config) { return config_of(config); },
                               [](const MixtralConfig& config) { return config_of(config); },
                               [](const PlainConfig& config) { return Found(config_of(config)); },
                               [](const GptNextConfig& config) { return Found(config_of(config)); },
                               [](const auto&) { return Found(); }},
                    model);
}

}  // namespace highwater::megatron
