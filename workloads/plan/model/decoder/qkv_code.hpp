// How a decoder's attention makes queries, keys and values, and norms the first two
// (modeling_NAME.py of transformers 5.23).
#pragma once

#include "workloads/plan/model/decoder/norm_kind.hpp"

namespace highwater {

/// nn.Linear modules that make queries, keys and values.
enum class QkvProjection : std::uint8_t {
  separate,
  columns,    ///< one, cut into columns: Phi-3
  head_parts  ///< one, each head's three parts side by side: GPT-NeoX
};

/// Which projections of attention have biases.
enum class AttentionBiases : std::uint8_t {
  configured,             ///< all four where attention_bias says so
  configured_but_output,  ///< the same without the output's: Helium
  always_but_output       ///< whatever the configuration says: Qwen2
};

/// When the output's projection is made.
enum class OutputMade : std::uint8_t {
  last,
  first  ///< before that of queries, keys and values: Phi-3
};

/// When heads are told apart.
enum class HeadsViewed : std::uint8_t {
  at_once,
  together  ///< when queries, keys and values are projected: OLMo
};

struct ProjectionCode {
  AttentionBiases biases = AttentionBiases::configured;
  QkvProjection qkv = QkvProjection::separate;
  const char* fused_name = "qkv_proj";  ///< of the one projection of all three
  const char* output_name = "o_proj";
  OutputMade output_made = OutputMade::last;
  HeadsViewed heads = HeadsViewed::at_once;
};

/// When queries and keys pass a norm of their own.
enum class QkNorm : std::uint8_t {
  none,
  in_projection,     ///< each as soon as it is projected, before the next projection: Qwen3
  whole,             ///< the same over all heads at once: OLMo 2
  before_transpose,  ///< after all three projections, before heads change places: GLM-4 MoE
  before_rotation,   ///< after all three projections: Gemma 3, EXAONE 4
  after_rotation,    ///< HunYuan
  per_head           ///< a weight for each head, before heads change places: Cohere
};

struct QkNormCode {
  QkNorm when = QkNorm::none;
  bool is_optional = false;  ///< only where the configuration says so
  NormKind kind = NormKind::llama;
  const char* query_name = "q_norm";
  const char* key_name = "k_norm";
};

}  // namespace highwater
