// Rotary position embeddings as far as they decide buffers; the frequencies do not.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json/fwd.hpp>

namespace highwater {

class JsonFields;

enum class RopeType : std::uint8_t {
  standard,
  linear,
  dynamic,
  yarn,
  longrope,
  llama3,
  proportional  ///< frequencies of a part of a head, zeros for the rest: Gemma 4
};

struct RopeParameters {
  RopeType rope_type = RopeType::standard;  ///< transformers' "default" is `standard` here
  double rope_theta = 10000.0;
  double factor = 1.0;
  double partial_rotary_factor = 1.0;  ///< of head_dim
  std::optional<std::int64_t> original_max_position_embeddings;

  bool operator==(const RopeParameters&) const = default;
};

/// Of a config.json: rope_scaling (transformers 4) wins over rope_parameters (5), as in
/// transformers; rope_theta may stand beside or inside.
void read_rope(RopeParameters& rope, JsonFields& fields);

/// As transformers 5 writes them. What a scaled rope needs besides is that of Llama 3.1.
void write_rope(const RopeParameters& rope, boost::json::object& object);

template <class Config>
void write_rope_parameters(const Config& config, boost::json::object& object) {
  write_rope(config.rope_parameters, object);
}

}  // namespace highwater
