// The decoder that the project's recording script defines itself, family `plain` of the recordings:
// a LLaMA in torchtitan's style, whose rope tables are made in each forward.
#pragma once

#include <array>
#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"

namespace highwater {

inline constexpr std::array kRecordedDecoderFields{
    field<&TorchtitanConfig::vocab>("vocab", FieldRole::vocab, {.is_required = true}),
    field<&TorchtitanConfig::dim>("dim", FieldRole::hidden, {.is_required = true}),
    field<&TorchtitanConfig::ffn>("ffn", FieldRole::ffn, {.is_required = true}),
    field<&TorchtitanConfig::layers>("layers", FieldRole::layers, {.is_required = true}),
    field<&TorchtitanConfig::heads>("heads", FieldRole::heads, {.is_required = true}),
    field<&TorchtitanConfig::kv_heads>("kv_heads", FieldRole::kv_heads),
    field<&TorchtitanConfig::theta>("theta"),
};

const Family& family_of(const TorchtitanConfig& config);

inline void check_recorded_decoder(const TorchtitanConfig& config, ModelProblems& problems) {
  const std::int64_t head_dim = config.heads == 0 ? 0 : head_dim_of(config);
  problems.check_rotary("dim / heads", head_dim, head_dim);
}

inline void read_flat_recorded_decoder(TorchtitanConfig& config, JsonFields& fields) {
  if (fields.find("ffn_hidden") == nullptr) {
    config.ffn = 4 * config.dim;
  }
}

inline ParameterCount recorded_decoder_parameters(const TorchtitanConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab, c.dim, false);
  count.linear += c.layers * (attention_weights(c.dim, c.heads, kv_heads_of(c), c.dim / c.heads) +
                              gated_mlp_weights(c.dim, c.ffn));
  count.norm = (2 * c.layers + 1) * c.dim;
  return count;
}

inline std::optional<megatron::Config> recorded_decoder_in_megatron(const TorchtitanConfig& c) {
  return megatron::Config{.layers = c.layers,
                          .hidden = c.dim,
                          .heads = c.heads,
                          .kv_heads = kv_heads_of(c),
                          .head_dim = c.dim / c.heads,
                          .ffn = c.ffn,
                          .vocab = c.vocab,
                          .rms_norm = true,
                          .gated = true};
}

inline constexpr auto kRecordedDecoder =
    family<TorchtitanConfig>({.name = "plain",
                              .class_prefix = "PlainDecoder",
                              .fields = kRecordedDecoderFields,
                              .traits = {.gated_mlp = true,
                                         .rms_norm = true,
                                         .torchtitan_style = true,
                                         .pipeline_stages = true,
                                         .attention_function = AttentionFunction::unless_eager},
                              .parameters = untyped<recorded_decoder_parameters>,
                              .check = untyped<check_recorded_decoder>,
                              .read_more_flat = untyped<read_flat_recorded_decoder>,
                              .to_megatron = untyped<recorded_decoder_in_megatron>});

inline const Family& family_of(const TorchtitanConfig& /*config*/) {
  return kRecordedDecoder;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const TorchtitanConfig& config);
}

}  // namespace highwater
