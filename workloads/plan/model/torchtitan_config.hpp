// What a decoder in torchtitan's style needs to know of a model: wq, wk, wv, wo, w1, w2, w3,
// RMSNorm as a chain of operators, an untied head.
#pragma once

#include <cstdint>
#include <optional>

namespace highwater {

struct TorchtitanConfig {
  std::int64_t vocab = 32000;
  std::int64_t dim = 768;
  std::int64_t ffn = 3072;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::optional<std::int64_t> kv_heads;  ///< absent: as many as heads
  double theta = 500000.0;

  bool operator==(const TorchtitanConfig&) const = default;
};

constexpr std::int64_t kv_heads_of(const TorchtitanConfig& config) {
  return config.kv_heads.value_or(config.heads);
}

constexpr std::int64_t head_dim_of(const TorchtitanConfig& config) {
  return config.dim / config.heads;
}

}  // namespace highwater
