// A block of a decoder of LLaMA's kind: its norms, and how its parts are added up.
#pragma once

#include <cstdint>

namespace highwater {

/// What a norm computes, operator by operator.
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

/// How the parts of a block are added up.
enum class Residual : std::uint8_t {
  sequential,      ///< x + attention, then x + feed-forward
  parallel,        ///< x + attention + feed-forward of the same normed x: Cohere
  parallel_last,   ///< attention + feed-forward + x, each dropped out: Phi
  two_norms,       ///< feed-forward + attention + x, each part with its own norm: GPT-NeoX
  kept_attention,  ///< sequential, but the attention's output has a name of its own: StableLM
  named_dropout    ///< the same, and each part is dropped out before: GPT-NeoX-Japanese
};

/// What is multiplied by a number where the parts of a block are added up.
enum class ResidualScaling : std::uint8_t {
  none,
  outputs,  ///< the outputs of both parts: Granite
  both      ///< residuals as well: Beam
};

/// The names of a block's norms; null: there is none at that place.
struct BlockNorms {
  const char* before_attention = "input_layernorm";
  const char* after_attention = nullptr;
  const char* before_mlp = "post_attention_layernorm";
  const char* after_mlp = nullptr;
};

/// When a block makes its norms, which decides where their weights lie.
enum class NormsMade : std::uint8_t {
  last,       ///< behind attention and feed-forward part
  first,      ///< before both: GPT-NeoX
  in_between  ///< before the feed-forward part: Granite MoE
};

struct BlockCode {
  NormKind norm = NormKind::llama;
  BlockNorms norms = {};
  NormsMade norms_made = NormsMade::last;
  bool has_sub_norms = false;            ///< before both parts' last projections: BitNet
  bool has_optional_post_norms = false;  ///< those behind the parts: HyperCLOVA X
  Residual residual = Residual::sequential;
  ResidualScaling scaling = ResidualScaling::none;
  bool drops_output = false;      ///< residual_dropout is at the end of both parts: StarCoder 2
  bool has_scalar = false;        ///< the result is multiplied by a buffer: Gemma 4
  bool names_fed_states = false;  ///< what is fed forward keeps a name: Granite MoE SWA
};

}  // namespace highwater
