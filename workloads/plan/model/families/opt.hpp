// OPT: the configuration and its defaults (transformers 5.12, configuration_opt.py), restricted to
// the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct OptConfig {
  std::int64_t vocab_size = 50272;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t ffn_dim = 3072;
  std::int64_t max_position_embeddings = 2048;
  bool do_layer_norm_before = true;
  bool remove_final_layer_norm = false;             ///< `_remove_final_layer_norm`
  std::optional<std::int64_t> word_embed_proj_dim;  ///< absent: hidden_size
  double dropout = 0.1;
  double attention_dropout = 0.0;
  std::int64_t num_attention_heads = 12;
  Activation activation_function = Activation::relu;
  double layerdrop = 0.0;
  std::optional<std::int64_t> pad_token_id = 1;
  bool enable_bias = true;
  bool layer_norm_elementwise_affine = true;
  bool tie_word_embeddings = true;

  bool operator==(const OptConfig&) const = default;
};

constexpr std::int64_t word_embed_dim_of(const OptConfig& config) {
  return config.word_embed_proj_dim.value_or(config.hidden_size);
}

inline constexpr std::array kOptFields{
    field<&OptConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&OptConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&OptConfig::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&OptConfig::ffn_dim>("ffn_dim", FieldRole::ffn),
    field<&OptConfig::max_position_embeddings>("max_position_embeddings", FieldRole::max_positions),
    field<&OptConfig::do_layer_norm_before>("do_layer_norm_before"),
    field<&OptConfig::remove_final_layer_norm>("_remove_final_layer_norm"),
    field<&OptConfig::word_embed_proj_dim>("word_embed_proj_dim", FieldRole::embedding_width),
    field<&OptConfig::dropout>("dropout", FieldRole::residual_dropout),
    field<&OptConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    field<&OptConfig::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&OptConfig::activation_function>("activation_function"),
    field<&OptConfig::layerdrop>("layerdrop"),
    field<&OptConfig::pad_token_id>("pad_token_id"),
    field<&OptConfig::enable_bias>("enable_bias"),
    field<&OptConfig::layer_norm_elementwise_affine>("layer_norm_elementwise_affine"),
    field<&OptConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const OptConfig& config);

inline void check_opt(const OptConfig& config, ModelProblems& problems) {
  problems.refuse_layerdrop(config.layerdrop);
}

/// opt-350m norms after its sublayers. A flat config's MLP is as wide as in all published sizes.
inline void read_flat_opt(OptConfig& config, JsonFields& fields) {
  config.do_layer_norm_before = fields.text("norm_placement") != "post";
  if (fields.find("ffn_hidden") == nullptr) {
    config.ffn_dim = 4 * config.hidden_size;
  }
}

inline ParameterCount opt_parameters(const OptConfig& c) {
  constexpr std::int64_t kPositionOffset = 2;
  const std::int64_t width = word_embed_dim_of(c);
  const bool final_norm = c.do_layer_norm_before && !c.remove_final_layer_norm;
  ParameterCount count = vocabulary_parameters(c.vocab_size, width, c.tie_word_embeddings);
  count.embedding += (c.max_position_embeddings + kPositionOffset) * c.hidden_size;
  count.linear += width == c.hidden_size ? 0 : 2 * width * c.hidden_size;
  add_square_layers(count, c.num_hidden_layers, c.hidden_size, c.ffn_dim, 2);
  count.norm += final_norm ? 2 * c.hidden_size : 0;
  count.norm = c.layer_norm_elementwise_affine ? count.norm : 0;
  count.bias = c.enable_bias ? c.num_hidden_layers * (5 * c.hidden_size + c.ffn_dim) : 0;
  return count;
}

inline constexpr std::array<std::string_view, 2> kOptLoraTargets{"q_proj", "v_proj"};

inline constexpr auto kOpt = family<OptConfig>({.name = "opt",
                                                .class_prefix = "OPT",
                                                .fields = kOptFields,
                                                .traits = {.position_table = true},
                                                .parameters = untyped<opt_parameters>,
                                                .lora_targets = kOptLoraTargets,
                                                .releases = kOptReleases,
                                                .check = untyped<check_opt>,
                                                .read_more_flat = untyped<read_flat_opt>});

inline const Family& family_of(const OptConfig& /*config*/) {
  return kOpt;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const OptConfig& config);
}

}  // namespace highwater
