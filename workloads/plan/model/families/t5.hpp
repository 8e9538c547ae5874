// T5, an encoder and a decoder: the configuration and its defaults (transformers 5.12,
// configuration_t5.py), restricted to the fields that decide allocations. transformers 5 forces
// tie_word_embeddings.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

struct T5Config {
  std::int64_t vocab_size = 32128;
  std::int64_t d_model = 512;
  std::int64_t d_kv = 64;
  std::int64_t d_ff = 2048;
  std::int64_t num_layers = 6;
  std::optional<std::int64_t> num_decoder_layers;  ///< absent: num_layers
  std::int64_t num_heads = 8;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  double dropout_rate = 0.1;
  Activation dense_act_fn = Activation::relu;  ///< from feed_forward_proj
  bool is_gated_act = false;                   ///< from feed_forward_proj
  bool scale_decoder_outputs = true;           ///< false when the file says untied (T5 v1.1)

  bool operator==(const T5Config&) const = default;
};

constexpr std::int64_t decoder_layers_of(const T5Config& config) {
  return config.num_decoder_layers.value_or(config.num_layers);
}

inline constexpr std::array kT5Fields{
    field<&T5Config::vocab_size>("vocab_size", FieldRole::vocab),
    field<&T5Config::d_model>("d_model", FieldRole::hidden, {.alias = "hidden_size"}),
    field<&T5Config::d_kv>("d_kv", FieldRole::head_dim, {.alias = "head_dim"}),
    field<&T5Config::d_ff>("d_ff", FieldRole::ffn),
    field<&T5Config::num_layers>("num_layers", FieldRole::layers, {.alias = "num_hidden_layers"}),
    field<&T5Config::num_decoder_layers>("num_decoder_layers", FieldRole::decoder_layers),
    field<&T5Config::num_heads>("num_heads", FieldRole::heads, {.alias = "num_attention_heads"}),
    field<&T5Config::relative_attention_num_buckets>("relative_attention_num_buckets",
                                                     FieldRole::other_size),
    field<&T5Config::relative_attention_max_distance>("relative_attention_max_distance"),
    field<&T5Config::dropout_rate>("dropout_rate", FieldRole::dropout),
    field<&T5Config::is_gated_act>("", FieldRole::gated),
    field<&T5Config::scale_decoder_outputs>("scale_decoder_outputs", FieldRole::none,
                                            {.alias = "tie_word_embeddings"}),
};

const Family& family_of(const T5Config& config);

/// "relu", "gated-gelu", "gated-silu": whether the MLP is gated, and its activation.
inline void write_feed_forward_proj(const T5Config& config, boost::json::object& object) {
  object["feed_forward_proj"] =
      (config.is_gated_act ? "gated-" : "") + std::string(to_string(config.dense_act_fn));
}

inline void read_feed_forward_proj(T5Config& config, JsonFields& fields) {
  std::string name = fields.text("feed_forward_proj");
  if (name.empty()) {
    return;
  }
  constexpr std::string_view kGated = "gated-";
  config.is_gated_act = name.starts_with(kGated);
  if (config.is_gated_act) {
    name.erase(0, kGated.size());
    name = name == "gelu" ? "gelu_new" : name;  // as transformers reads "gated-gelu"
  }
  const auto activation = parse_activation(name);
  if (!activation) {
    fields.add_problem(
        "feed_forward_proj",
        "must be an activation, or 'gated-' and an activation, but is '" + name + "'");
    return;
  }
  config.dense_act_fn = *activation;
}

inline void complete_t5_shape(const T5Config& /*config*/, ModelShape& shape) {
  shape.tied = true;
}

inline ParameterCount t5_parameters(const T5Config& c) {
  const std::int64_t decoders = decoder_layers_of(c);
  const std::int64_t attention = 4 * c.d_model * c.num_heads * c.d_kv;
  const std::int64_t mlp = (c.is_gated_act ? 3 : 2) * c.d_model * c.d_ff;
  return {
      .embedding = c.vocab_size * c.d_model + 2 * c.relative_attention_num_buckets * c.num_heads,
      .linear = c.num_layers * (attention + mlp) + decoders * (2 * attention + mlp),
      .norm = (2 * c.num_layers + 3 * decoders + 2) * c.d_model};
}

inline constexpr std::array<std::string_view, 2> kT5LoraTargets{"q", "v"};

inline constexpr auto kT5 =
    family<T5Config>({.name = "t5",
                      .class_prefix = "T5",
                      .fields = kT5Fields,
                      .traits = {.rms_norm = true,
                                 .sdpa_since = {5, 15},
                                 .attention_function = AttentionFunction::never},
                      .parameters = untyped<t5_parameters>,
                      .lora_targets = kT5LoraTargets,
                      .complete_shape = untyped<complete_t5_shape>,
                      .read_more = untyped<read_feed_forward_proj>,
                      .write_more = untyped<write_feed_forward_proj>});

inline const Family& family_of(const T5Config& /*config*/) {
  return kT5;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const T5Config& config);
}

}  // namespace highwater
