// One field of a family's configuration as a row of a table: where the struct keeps it, what
// config.json calls it, and what it means to the rest of the program. Generic code reads files,
// answers shapes, sets dropout and checks ranges by these rows and knows no family's struct.
#pragma once

#include <any>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "workloads/plan/model/activation.hpp"

namespace highwater {

/// What a field means outside of its family. Sizes must be at least 1, probabilities within [0, 1].
enum class FieldRole : std::uint8_t {
  none,
  layers,
  decoder_layers,  ///< absent: as many as layers
  hidden,
  heads,
  kv_heads,         ///< absent: as many as heads
  unused_kv_heads,  ///< the same, in a model whose code does not use the number
  head_dim,         ///< absent: hidden / heads
  ffn,              ///< absent: 4 * hidden
  vocab,
  max_positions,
  embedding_width,  ///< absent: hidden
  rotary_dim,
  experts,
  experts_per_token,
  other_size,
  tied,     ///< the head is the token embedding
  gated,    ///< the MLP has a gate
  dropout,  ///< the only probability of a family that has one for all places
  residual_dropout,
  embedding_dropout,
  attention_dropout,
  other_probability  ///< --dropout leaves it alone
};

using FieldValue =
    std::variant<std::int64_t, std::optional<std::int64_t>, double, bool, Activation>;
using FieldPlace =
    std::variant<std::int64_t*, std::optional<std::int64_t>*, double*, bool*, Activation*>;

/// What most fields do not need.
struct FieldDetails {
  std::string_view alias;    ///< read where the name is absent: transformers' attribute_map
  std::string_view own_key;  ///< in a flat config, where the role does not give it
  bool is_required = false;
  bool null_clears = false;  ///< an explicit null means none, although the default is a number
};

struct ConfigField {
  FieldValue (*value)(const std::any& config);
  FieldPlace (*place)(std::any& config);
  std::string_view name;  ///< in config.json; empty: not read from there
  FieldRole role;
  FieldDetails details;
};

template <auto member>
struct FieldOf;

template <class Config, class T, T Config::*member>
struct FieldOf<member> {
  static FieldValue value(const std::any& config) {
    return std::any_cast<const Config&>(config).*member;
  }

  static FieldPlace place(std::any& config) { return &(std::any_cast<Config&>(config).*member); }
};

/// The row of `member`: field<&BloomConfig::n_layer>("n_layer", FieldRole::layers).
template <auto member>
constexpr ConfigField field(std::string_view name, FieldRole role = FieldRole::none,
                            FieldDetails details = {}) {
  return {FieldOf<member>::value, FieldOf<member>::place, name, role, details};
}

/// The rows of `first`, then those of `second`: what relatives share, and what a family adds.
template <std::size_t n, std::size_t m>
constexpr std::array<ConfigField, n + m> joined(const std::array<ConfigField, n>& first,
                                                const std::array<ConfigField, m>& second) {
  std::array<ConfigField, n + m> all{};
  for (std::size_t i = 0; i < n + m; ++i) {
    all[i] = i < n ? first[i] : second[i - n];
  }
  return all;
}

}  // namespace highwater
