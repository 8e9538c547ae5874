// NeMo's "GPT next" sizes: as LLaMA with LayerNorm (weight and bias) and an untied head. No class
// of transformers; only layers, width, vocabulary and rounded counts are published (models.json).
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

struct GptNextConfig {
  std::int64_t vocab_size = 50257;
  std::int64_t hidden_size = 2048;
  std::int64_t ffn_hidden_size = 5440;
  std::int64_t num_layers = 24;
  std::int64_t num_attention_heads = 16;
  double attention_dropout = 0.0;
  double hidden_dropout = 0.0;

  bool operator==(const GptNextConfig&) const = default;
};

inline constexpr std::array kGptNextFields{
    field<&GptNextConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&GptNextConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&GptNextConfig::ffn_hidden_size>("ffn_hidden_size", FieldRole::ffn),
    field<&GptNextConfig::num_layers>("num_layers", FieldRole::layers),
    field<&GptNextConfig::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&GptNextConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    field<&GptNextConfig::hidden_dropout>("hidden_dropout", FieldRole::residual_dropout),
};

const Family& family_of(const GptNextConfig& config);

inline ParameterCount gpt_next_parameters(const GptNextConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, false);
  count.linear += c.num_layers * (4 * c.hidden_size * c.hidden_size +
                                  gated_mlp_weights(c.hidden_size, c.ffn_hidden_size));
  count.norm = (2 * c.num_layers + 1) * 2 * c.hidden_size;
  return count;
}

/// A gated decoder with LayerNorm and rope.
inline std::optional<megatron::Config> gpt_next_in_megatron(const GptNextConfig& c) {
  return megatron::Config{.layers = c.num_layers,
                          .hidden = c.hidden_size,
                          .heads = c.num_attention_heads,
                          .kv_heads = c.num_attention_heads,
                          .head_dim = c.hidden_size / c.num_attention_heads,
                          .ffn = c.ffn_hidden_size,
                          .vocab = c.vocab_size,
                          .gated = true,
                          .hidden_dropout = c.hidden_dropout,
                          .attention_dropout = c.attention_dropout};
}

inline constexpr auto kGptNext =
    family<GptNextConfig>({.name = "gpt_next",
                           .fields = kGptNextFields,
                           .traits = {.gated_mlp = true},
                           .parameters = untyped<gpt_next_parameters>,
                           .to_megatron = untyped<gpt_next_in_megatron>});

inline const Family& family_of(const GptNextConfig& /*config*/) {
  return kGptNext;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const GptNextConfig& config);
}

}  // namespace highwater
