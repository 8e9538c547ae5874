// What decoders of LLaMA's kind share as families: a row is a name, the facts of its code, the
// defaults of its configuration and the keys of its config.json.
#pragma once

#include "workloads/plan/model/families/llama.hpp"

namespace highwater {

/// `layer_types`: which layers have a window.
inline void read_layer_types(LlamaConfig& config, JsonFields& fields) {
  const boost::json::array* const types = fields.array("layer_types");
  if (types == nullptr) {
    return;
  }
  for (const boost::json::value& type : *types) {
    if (type != "sliding_attention" && type != "full_attention") {
      fields.add_problem("layer_types", "must list 'full_attention' and 'sliding_attention'");
      return;
    }
    config.sliding_layers.push_back(type == "sliding_attention");
  }
}

/// `no_rope_layers`: 1 for layers that turn queries and keys.
inline void read_rotated_layers(LlamaConfig& config, JsonFields& fields) {
  const boost::json::array* const layers = fields.array("no_rope_layers");
  if (layers == nullptr) {
    return;
  }
  for (const boost::json::value& layer : *layers) {
    config.rotated_layers.push_back(layer != 0);
  }
}

inline void read_decoder(LlamaConfig& config, JsonFields& fields) {
  read_rope_parameters(config, fields);
  read_layer_types(config, fields);
  read_rotated_layers(config, fields);
}

inline void check_decoder(const LlamaConfig& config, ModelProblems& problems) {
  check_rope_decoder(config, problems);
  const auto check_list = [&](const char* name, const std::vector<bool>& list) {
    const auto size = static_cast<std::int64_t>(list.size());
    if (size != 0 && size != config.num_hidden_layers) {
      problems.add("{} describe {} layers, but num_hidden_layers is {}; make them equal", name,
                   size, config.num_hidden_layers);
    }
  };
  check_list("layer_types", config.sliding_layers);
  check_list("no_rope_layers", config.rotated_layers);
}

/// What the generator lacks of a configuration that transformers takes.
inline void decoder_gaps(const LlamaConfig& config, ModelProblems& problems) {
  if (config.clip_qkv) {
    problems.add("clip_qkv is {}; clipped projections are not simulated", *config.clip_qkv);
  }
  // Most classes round down, as GLM-4 MoE's default does; transformers refuses it where one cannot.
  if (!config.head_dim && config.num_attention_heads > 0 &&
      config.hidden_size % config.num_attention_heads != 0) {
    problems.add("num_attention_heads ({}) does not divide hidden_size ({})",
                 config.num_attention_heads, config.hidden_size);
  }
}

inline constexpr Family kDecoderRelative{.traits = {.gated_mlp = true, .rms_norm = true},
                                         .parameters = untyped<llama_parameters>,
                                         .check = untyped<check_decoder>,
                                         .gaps = untyped<decoder_gaps>,
                                         .read_more = untyped<read_decoder>,
                                         .write_more = untyped<write_rope_parameters<LlamaConfig>>};

template <class... Rows>
constexpr auto decoder_fields(Rows... rows) {
  return joined(kRopeDecoderFields<LlamaConfig>, std::array<ConfigField, sizeof...(rows)>{rows...});
}

/// The family whose defaults are those of `defaults`.
template <LlamaConfig (*defaults)()>
constexpr FamilyOf<LlamaConfig> decoder_family(Family record, std::string_view name,
                                               std::string_view class_prefix,
                                               std::span<const ConfigField> fields) {
  record.name = name;
  record.class_prefix = class_prefix;
  record.fields = fields;
  return family<LlamaConfig>(record, [] { return std::any(defaults()); });
}

inline constexpr ConfigField kMlpBiasField = field<&LlamaConfig::mlp_bias>("mlp_bias");
inline constexpr ConfigField kWindowField = kSlidingWindowField<LlamaConfig>;

}  // namespace highwater
