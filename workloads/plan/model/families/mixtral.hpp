// Mixtral: the configuration and its defaults (transformers 5.12, configuration_mixtral.py),
// restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/families/rope_decoder.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct MixtralConfig {
  std::int64_t vocab_size = 32000;
  std::int64_t hidden_size = 4096;
  std::int64_t intermediate_size = 14336;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  std::optional<std::int64_t> num_key_value_heads = 8;
  std::optional<std::int64_t> head_dim;  ///< absent: hidden_size / heads
  Activation hidden_act = Activation::silu;
  std::int64_t max_position_embeddings = 131072;
  std::optional<std::int64_t> pad_token_id;
  bool tie_word_embeddings = false;
  RopeParameters rope_parameters{.rope_theta = 1e6};
  std::optional<std::int64_t> sliding_window;
  double attention_dropout = 0.0;
  std::int64_t num_experts_per_tok = 2;
  std::int64_t num_local_experts = 8;
  bool output_router_logits = false;
  double router_jitter_noise = 0.0;

  bool operator==(const MixtralConfig&) const = default;
};

inline constexpr std::array kMixtralFields =
    joined(kRopeDecoderFields<MixtralConfig>,
           std::array{
               kSlidingWindowField<MixtralConfig>,
               field<&MixtralConfig::intermediate_size>("", FieldRole::none,
                                                        {.own_key = "moe.expert_ffn_hidden"}),
               field<&MixtralConfig::num_local_experts>(
                   "num_local_experts", FieldRole::experts,
                   {.alias = "num_experts", .own_key = "moe.num_experts"}),
               field<&MixtralConfig::num_experts_per_tok>("num_experts_per_tok",
                                                          FieldRole::experts_per_token,
                                                          {.own_key = "moe.experts_per_token"}),
               field<&MixtralConfig::output_router_logits>("output_router_logits"),
               field<&MixtralConfig::router_jitter_noise>("router_jitter_noise"),
           });

const Family& family_of(const MixtralConfig& config);

/// What the generator lacks of a configuration that transformers takes.
inline void mixtral_gaps(const MixtralConfig& config, ModelProblems& problems) {
  if (config.router_jitter_noise != 0.0) {
    problems.add("router_jitter_noise is {}; jitter is not simulated", config.router_jitter_noise);
  }
  if (config.output_router_logits) {
    problems.add("output_router_logits is true; the balancing loss is not simulated");
  }
}

inline ParameterCount mixtral_parameters(const MixtralConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  const std::int64_t expert = gated_mlp_weights(c.hidden_size, c.intermediate_size);
  count.linear += c.num_hidden_layers * (attention_weights(c.hidden_size, c.num_attention_heads,
                                                           kv_heads_of(c), head_dim_of(c)) +
                                         c.num_local_experts * (c.hidden_size + expert));
  count.norm = (2 * c.num_hidden_layers + 1) * c.hidden_size;
  return count;
}

/// As LLaMA, with a MoELayer in every block.
inline std::optional<megatron::Config> mixtral_in_megatron(const MixtralConfig& c) {
  if (c.hidden_act != Activation::silu) {
    return std::nullopt;
  }
  return megatron::Config{.layers = c.num_hidden_layers,
                          .hidden = c.hidden_size,
                          .heads = c.num_attention_heads,
                          .kv_heads = kv_heads_of(c),
                          .head_dim = head_dim_of(c),
                          .ffn = c.intermediate_size,
                          .vocab = c.vocab_size,
                          .rms_norm = true,
                          .gated = true,
                          .tied = c.tie_word_embeddings,
                          .experts = c.num_local_experts,
                          .top_k = c.num_experts_per_tok,
                          .attention_dropout = c.attention_dropout};
}

inline constexpr auto kMixtral =
    family<MixtralConfig>({.name = "mixtral",
                           .class_prefix = "Mixtral",
                           .fields = kMixtralFields,
                           .traits = {.gated_mlp = true, .rms_norm = true},
                           .parameters = untyped<mixtral_parameters>,
                           .lora_targets = kRopeDecoderLoraTargets,
                           .releases = kLlamaReleases,
                           .check = untyped<check_rope_decoder<MixtralConfig>>,
                           .gaps = untyped<mixtral_gaps>,
                           .read_more = untyped<read_rope_parameters<MixtralConfig>>,
                           .write_more = untyped<write_rope_parameters<MixtralConfig>>,
                           .to_megatron = untyped<mixtral_in_megatron>});

inline const Family& family_of(const MixtralConfig& /*config*/) {
  return kMixtral;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const MixtralConfig& config);
}

}  // namespace highwater
