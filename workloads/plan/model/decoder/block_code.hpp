// A decoder's block: where its norms are, and how its parts are added up (modeling_NAME.py of
// transformers 5.23).
#pragma once

#include "workloads/plan/model/decoder/norm_kind.hpp"

namespace highwater {

/// How the parts of a block are added up.
enum class Residual : std::uint8_t {
  sequential,      ///< x + attention, then x + feed-forward
  parallel,        ///< x + attention + feed-forward of the same normed x: Cohere
  parallel_last,   ///< attention + feed-forward + x, each dropped out: Phi
  two_norms,       ///< feed-forward + attention + x, each part with its own norm: GPT-NeoX
  kept_attention,  ///< sequential, but the attention's output has a name of its own: StableLM
  named_dropout    ///< the same, and each part is dropped out before: GPT-NeoX-Japanese
};

/// What is multiplied by a number before a sum.
enum class ResidualScale : std::uint8_t {
  none,
  part,  ///< the output of attention or feed-forward part: Granite
  both   ///< the residual, too: Beam
};

/// Where residual_dropout is.
enum class ResidualDropout : std::uint8_t {
  before_sum,    ///< in the block
  ends_the_part  ///< at the end of attention and feed-forward part: StarCoder 2
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

/// Whether the norms behind the parts depend on the configuration.
enum class PostNorms : std::uint8_t {
  always,
  configured  ///< use_post_norm: HyperCLOVA X
};

struct BlockCode {
  NormKind norm = NormKind::llama;
  BlockNorms norms = {};
  NormsMade norms_made = NormsMade::last;
  PostNorms post_norms = PostNorms::always;
  bool has_sub_norms = false;  ///< norms before both parts' last projections: BitNet
  Residual residual = Residual::sequential;
  ResidualScale scale = ResidualScale::none;
  ResidualDropout dropout = ResidualDropout::before_sum;
  bool names_fed_states =
      false;                ///< what the feed-forward part gives keeps a name: Granite MoE SWA
  bool has_scalar = false;  ///< its result is multiplied by a buffer: Gemma 4
};

}  // namespace highwater
