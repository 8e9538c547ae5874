// BLOOM: the configuration and its defaults (transformers 5.12, configuration_bloom.py), restricted
// to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct BloomConfig {
  std::int64_t vocab_size = 250880;
  std::int64_t hidden_size = 64;
  std::int64_t n_layer = 2;
  std::int64_t n_head = 8;
  bool apply_residual_connection_post_layernorm = false;
  double hidden_dropout = 0.0;
  double attention_dropout = 0.0;
  std::int64_t pretraining_tp = 1;
  bool slow_but_exact = false;
  bool tie_word_embeddings = true;

  bool operator==(const BloomConfig&) const = default;
};

inline constexpr std::array kBloomFields{
    field<&BloomConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&BloomConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&BloomConfig::hidden_size>("n_embed"),  // wins if both are given
    field<&BloomConfig::n_layer>("n_layer", FieldRole::layers, {.alias = "num_hidden_layers"}),
    field<&BloomConfig::n_head>("n_head", FieldRole::heads, {.alias = "num_attention_heads"}),
    field<&BloomConfig::apply_residual_connection_post_layernorm>(
        "apply_residual_connection_post_layernorm"),
    field<&BloomConfig::hidden_dropout>("hidden_dropout", FieldRole::residual_dropout),
    field<&BloomConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    field<&BloomConfig::pretraining_tp>("pretraining_tp"),
    field<&BloomConfig::slow_but_exact>("slow_but_exact"),
    field<&BloomConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const BloomConfig& config);

inline void check_bloom(const BloomConfig& config, ModelProblems& problems) {
  if (config.slow_but_exact && config.pretraining_tp > 1) {
    problems.add("slow_but_exact with pretraining_tp {} is not supported; set it to false",
                 config.pretraining_tp);
  }
}

inline ParameterCount bloom_parameters(const BloomConfig& c) {
  const std::int64_t ffn = 4 * c.hidden_size;
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  add_square_layers(count, c.n_layer, c.hidden_size, ffn, 2);
  count.bias = c.n_layer * (5 * c.hidden_size + ffn);
  count.norm += 2 * 2 * c.hidden_size;  // after the embedding and at the end
  return count;
}

inline constexpr std::array<std::string_view, 1> kBloomLoraTargets{"query_key_value"};

inline constexpr auto kBloom =
    family<BloomConfig>({.name = "bloom",
                         .class_prefix = "Bloom",
                         .fields = kBloomFields,
                         .traits = {.sdpa = false, .attention_function = AttentionFunction::never},
                         .parameters = untyped<bloom_parameters>,
                         .lora_targets = kBloomLoraTargets,
                         .releases = kOptReleases,
                         .check = untyped<check_bloom>});

inline const Family& family_of(const BloomConfig& /*config*/) {
  return kBloom;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const BloomConfig& config);
}

}  // namespace highwater
