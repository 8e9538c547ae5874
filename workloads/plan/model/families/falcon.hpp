// Falcon: the configuration and its defaults (transformers 5.23, configuration_falcon.py),
// restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/rope.hpp"

namespace highwater {

struct FalconConfig {
  std::int64_t vocab_size = 65024;
  std::int64_t hidden_size = 4544;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 71;
  std::optional<std::int64_t> num_kv_heads;     ///< of the new architecture; absent: all heads
  std::optional<std::int64_t> ffn_hidden_size;  ///< absent: 4 * hidden_size
  std::optional<std::int64_t> num_ln_in_parallel_attn;
  Activation activation = Activation::gelu;
  bool new_decoder_architecture = false;
  bool multi_query = true;
  bool parallel_attn = true;
  bool bias = false;
  bool alibi = false;
  double hidden_dropout = 0.0;
  double attention_dropout = 0.0;
  std::int64_t max_position_embeddings = 2048;
  bool tie_word_embeddings = true;
  RopeParameters rope_parameters;

  bool operator==(const FalconConfig&) const = default;
};

inline constexpr std::array kFalconFields{
    field<&FalconConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&FalconConfig::hidden_size>("hidden_size", FieldRole::hidden, {.alias = "n_embed"}),
    field<&FalconConfig::num_hidden_layers>("num_hidden_layers", FieldRole::layers,
                                            {.alias = "n_layer"}),
    field<&FalconConfig::num_attention_heads>("num_attention_heads", FieldRole::heads,
                                              {.alias = "n_head"}),
    field<&FalconConfig::num_kv_heads>("num_kv_heads", FieldRole::kv_heads, {.alias = "n_head_kv"}),
    field<&FalconConfig::ffn_hidden_size>("ffn_hidden_size", FieldRole::ffn),
    field<&FalconConfig::num_ln_in_parallel_attn>("num_ln_in_parallel_attn"),
    field<&FalconConfig::activation>("activation"),
    field<&FalconConfig::new_decoder_architecture>("new_decoder_architecture"),
    field<&FalconConfig::multi_query>("multi_query"),
    field<&FalconConfig::parallel_attn>("parallel_attn"),
    field<&FalconConfig::bias>("bias"),
    field<&FalconConfig::alibi>("alibi"),
    field<&FalconConfig::hidden_dropout>("hidden_dropout", FieldRole::residual_dropout),
    field<&FalconConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    field<&FalconConfig::max_position_embeddings>("max_position_embeddings",
                                                  FieldRole::max_positions),
    field<&FalconConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const FalconConfig& config);

constexpr std::int64_t ffn_of(const FalconConfig& config) {
  return config.ffn_hidden_size.value_or(4 * config.hidden_size);
}

/// The key-value heads that are projected.
constexpr std::int64_t projected_kv_heads(const FalconConfig& config) {
  if (config.new_decoder_architecture) {
    return config.num_kv_heads.value_or(config.num_attention_heads);
  }
  return config.multi_query ? 1 : config.num_attention_heads;
}

/// Whether attention and feed-forward part have a norm each, side by side.
constexpr bool has_two_norms(const FalconConfig& config) {
  return config.parallel_attn && config.new_decoder_architecture &&
         config.num_ln_in_parallel_attn.value_or(2) == 2;
}

inline void read_falcon(FalconConfig& config, JsonFields& fields) {
  read_rope(config.rope_parameters, fields);
}

inline void check_falcon(const FalconConfig& config, ModelProblems& problems) {
  problems.check_divides("num_attention_heads", config.num_attention_heads, "hidden_size",
                         config.hidden_size);
  problems.check_divides("num_kv_heads", projected_kv_heads(config), "num_attention_heads",
                         config.num_attention_heads);
}

inline void falcon_gaps(const FalconConfig& config, ModelProblems& problems) {
  if (config.alibi) {
    problems.add("alibi is true; Falcon's position biases are not simulated");
  }
  if (config.new_decoder_architecture && !config.parallel_attn) {
    problems.add("parallel_attn is false in the new architecture, which is not simulated");
  }
}

inline ParameterCount falcon_parameters(const FalconConfig& c) {
  const std::int64_t heads = c.num_attention_heads;
  const std::int64_t head_dim = heads == 0 ? 0 : c.hidden_size / heads;
  const std::int64_t qkv = (heads + 2 * projected_kv_heads(c)) * head_dim;
  const std::int64_t norms = has_two_norms(c) || !c.parallel_attn ? 2 : 1;
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.linear += c.num_hidden_layers * c.hidden_size * (qkv + c.hidden_size + 2 * ffn_of(c));
  count.bias += c.bias ? c.num_hidden_layers * (qkv + 2 * c.hidden_size + ffn_of(c)) : 0;
  count.norm = 2 * c.hidden_size * (norms * c.num_hidden_layers + 1);
  return count;
}

inline constexpr std::array<std::string_view, 1> kFalconLoraTargets{"query_key_value"};

inline constexpr auto kFalcon =
    family<FalconConfig>({.name = "falcon",
                          .class_prefix = "FalconFor",
                          .fields = kFalconFields,
                          .traits = {.attention_function = AttentionFunction::never},
                          .parameters = untyped<falcon_parameters>,
                          .lora_targets = kFalconLoraTargets,
                          .check = untyped<check_falcon>,
                          .gaps = untyped<falcon_gaps>,
                          .read_more = untyped<read_falcon>,
                          .write_more = untyped<write_rope_parameters<FalconConfig>>});

inline const Family& family_of(const FalconConfig& /*config*/) {
  return kFalcon;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const FalconConfig& config);
}

}  // namespace highwater
