// A model: a name, where its configuration is from, and the configuration; and what follows from
// the configuration, by the roles of its fields.
//
// Configurations say what a config says and resolve nothing: an absent head_dim stays absent, the
// functions below answer. So an override of hidden_size still moves what is derived from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/model/model_config.hpp"

namespace highwater {

struct ModelSpec {
  std::string name;
  std::string source;  ///< where the config is from: a hub id, a file, a paper
  ModelConfig config;
  /// What a config.json left to its family: "hidden_size 4096", ...
  std::vector<std::string> family_defaults = {};
  std::string config_text = {};            ///< of the config.json that it was read from, if it was
  std::optional<std::int64_t> width = {};  ///< hidden size that it was given (model_width.hpp)
  int labels = 0;  ///< of transformers' ...ForSequenceClassification; 0: a language-model head

  bool operator==(const ModelSpec&) const = default;
};

/// What all families have, resolved: derived sizes filled in.
struct ModelShape {
  std::int64_t layers = 0;          ///< of T5: of the encoder
  std::int64_t decoder_layers = 0;  ///< T5 only, else 0
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  ///< of one expert in mixtures; dense layers of DeepSeek-V3 have their own
  std::int64_t vocab = 0;
  std::optional<std::int64_t> max_positions;  ///< absent: no limit known
  std::int64_t experts = 0;                   ///< routed experts per layer, 0: no mixture
  bool tied = false;                          ///< head and token embedding are one tensor

  bool operator==(const ModelShape&) const = default;
};

ModelShape shape_of(const ModelConfig& config);

inline ModelShape shape_of(const ModelSpec& spec) {
  return shape_of(spec.config);
}

/// The family's name, as transformers' model_type.
std::string_view family_name(const ModelConfig& config);

inline std::string_view family_name(const ModelSpec& spec) {
  return family_name(spec.config);
}

/// Gives every dropout probability of the model the value `probability`.
void set_dropout(ModelConfig& config, double probability);

/// Everything that makes the config impossible to build or run, one sentence each; empty if fine.
std::vector<std::string> model_problems(const ModelSpec& spec);

}  // namespace highwater
