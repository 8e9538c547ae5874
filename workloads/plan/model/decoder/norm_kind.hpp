// What a norm of a decoder computes, operator by operator (modeling_NAME.py of transformers 5.23).
#pragma once

#include <cstdint>

namespace highwater {

enum class NormKind : std::uint8_t {
  llama,          ///< weight * x.to(input dtype); also T5, Mixtral, DeepSeek
  gemma,          ///< (x * (1 + weight)) in fp32, cast at the end
  torchtitan,     ///< weight * x.type_as(input), x not bound again
  cast_last,      ///< (weight * x).to(input dtype): OLMo 2
  wide_weight,    ///< (weight.to(fp32) * x).to(input dtype): Helium
  power,          ///< x * mean(x^2) ** -0.5 * weight in fp32, cast at the end: Gemma 4
  power_plain,    ///< the same without a weight
  layer,          ///< nn.LayerNorm
  layer_1p,       ///< F.layer_norm with weight + 1, outside of autocast: Nemotron
  layer_plain,    ///< F.layer_norm in fp32 without weights: OLMo
  layer_in_steps  ///< a LayerNorm without bias, in elementwise operators: Cohere
};

}  // namespace highwater
