// BioGPT: the configuration and its defaults (transformers 5.12, configuration_biogpt.py),
// restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct BioGptConfig {
  std::int64_t vocab_size = 42384;
  std::int64_t hidden_size = 1024;
  std::int64_t num_hidden_layers = 24;
  std::int64_t num_attention_heads = 16;
  std::int64_t intermediate_size = 4096;
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 1024;
  bool scale_embedding = true;
  double layerdrop = 0.0;
  double activation_dropout = 0.0;
  std::optional<std::int64_t> pad_token_id = 1;
  bool tie_word_embeddings = true;

  bool operator==(const BioGptConfig&) const = default;
};

inline constexpr std::array kBioGptFields{
    field<&BioGptConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&BioGptConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&BioGptConfig::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&BioGptConfig::intermediate_size>("intermediate_size", FieldRole::ffn),
    field<&BioGptConfig::max_position_embeddings>("max_position_embeddings",
                                                  FieldRole::max_positions),
    field<&BioGptConfig::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&BioGptConfig::hidden_act>("hidden_act"),
    field<&BioGptConfig::hidden_dropout_prob>("hidden_dropout_prob", FieldRole::residual_dropout),
    field<&BioGptConfig::attention_probs_dropout_prob>("attention_probs_dropout_prob",
                                                       FieldRole::attention_dropout),
    field<&BioGptConfig::activation_dropout>("activation_dropout", FieldRole::other_probability),
    field<&BioGptConfig::scale_embedding>("scale_embedding"),
    field<&BioGptConfig::layerdrop>("layerdrop"),
    field<&BioGptConfig::pad_token_id>("pad_token_id"),
    field<&BioGptConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const BioGptConfig& config);

inline void check_biogpt(const BioGptConfig& config, ModelProblems& problems) {
  problems.refuse_layerdrop(config.layerdrop);
}

/// A flat config's MLP is as wide as in all published sizes.
inline void read_flat_biogpt(BioGptConfig& config, JsonFields& fields) {
  if (fields.find("ffn_hidden") == nullptr) {
    config.intermediate_size = 4 * config.hidden_size;
  }
}

inline ParameterCount biogpt_parameters(const BioGptConfig& c) {
  constexpr std::int64_t kPositionOffset = 2;
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.embedding += (c.max_position_embeddings + kPositionOffset) * c.hidden_size;
  add_square_layers(count, c.num_hidden_layers, c.hidden_size, c.intermediate_size, 2);
  count.bias = c.num_hidden_layers * (5 * c.hidden_size + c.intermediate_size);
  count.norm += 2 * c.hidden_size;
  return count;
}

inline constexpr auto kBioGpt = family<BioGptConfig>({.name = "biogpt",
                                                      .class_prefix = "BioGpt",
                                                      .fields = kBioGptFields,
                                                      .traits = {.position_table = true},
                                                      .parameters = untyped<biogpt_parameters>,
                                                      .releases = kOptReleases,
                                                      .check = untyped<check_biogpt>,
                                                      .read_more_flat = untyped<read_flat_biogpt>});

inline const Family& family_of(const BioGptConfig& /*config*/) {
  return kBioGpt;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const BioGptConfig& config);
}

}  // namespace highwater
