// What the configurations of LLaMA, its relatives and Mixtral have in common: decoders with rotary
// positions, grouped key-value heads and gated MLPs.
#pragma once

#include <array>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/rope.hpp"

namespace highwater {

template <class Config>
concept RopeDecoderConfig = requires(const Config& config) {
  config.num_key_value_heads.value_or(config.num_attention_heads);
  config.head_dim.value_or(config.hidden_size);
};

template <RopeDecoderConfig Config>
constexpr std::int64_t kv_heads_of(const Config& config) {
  return config.num_key_value_heads.value_or(config.num_attention_heads);
}

/// 0 where a bad config would divide by 0; the checks report it.
template <RopeDecoderConfig Config>
constexpr std::int64_t head_dim_of(const Config& config) {
  const std::int64_t heads = config.num_attention_heads;
  return config.head_dim.value_or(heads == 0 ? 0 : config.hidden_size / heads);
}

template <RopeDecoderConfig Config>
inline constexpr std::array kRopeDecoderFields{
    field<&Config::vocab_size>("vocab_size", FieldRole::vocab),
    field<&Config::hidden_size>("hidden_size", FieldRole::hidden),
    field<&Config::intermediate_size>("intermediate_size", FieldRole::ffn),
    field<&Config::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&Config::max_position_embeddings>("max_position_embeddings", FieldRole::max_positions),
    field<&Config::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&Config::num_key_value_heads>("num_key_value_heads", FieldRole::kv_heads,
                                        {.null_clears = true}),
    field<&Config::head_dim>("head_dim", FieldRole::head_dim),
    field<&Config::hidden_act>("hidden_act"),
    field<&Config::pad_token_id>("pad_token_id"),
    field<&Config::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
    field<&Config::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
};

/// Null switches the window off, although the default may be a number.
template <class Config>
inline constexpr ConfigField kSlidingWindowField =
    field<&Config::sliding_window>("sliding_window", FieldRole::none, {.null_clears = true});

template <class Config>
void read_rope_parameters(Config& config, JsonFields& fields) {
  read_rope(config.rope_parameters, fields);
}

template <RopeDecoderConfig Config>
void check_rope_decoder(const Config& config, ModelProblems& problems) {
  problems.check_rotary("head_dim", head_dim_of(config), head_dim_of(config));
  if (config.sliding_window && *config.sliding_window < 1) {
    problems.add("sliding_window is {}; give at least 1, or null for none", *config.sliding_window);
  }
}

inline constexpr std::array<std::string_view, 2> kRopeDecoderLoraTargets{"q_proj", "v_proj"};

}  // namespace highwater
