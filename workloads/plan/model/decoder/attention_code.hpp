// What a decoder's attention does with queries, keys and values (modeling_NAME.py of transformers
// 5.23).
#pragma once

#include "workloads/plan/model/decoder/qkv_code.hpp"

namespace highwater {

/// The attention itself.
enum class AttentionKind : std::uint8_t {
  plain,
  baddbmm,        ///< added to zeros: GPT-NeoX-Japanese
  normed_values,  ///< values pass a norm, queries and keys are turned before heads move: Gemma 4
  differential    ///< twice, for halves of the values; the second is subtracted: DiffLlama
};

/// What a learned number for each head, its sink, does to attention.
enum class SinkCode : std::uint8_t {
  none,
  rescaled,   ///< the output is multiplied by a sigmoid of what the softmax summed: Granite SWA
  in_softmax  ///< a column of the scores, in layers with a window: MiMo-V2
};

/// What opens the output of attention, before its last projection.
enum class AttentionGate : std::uint8_t {
  none,
  plain,  ///< a projection of the input, made before queries are normed: AFMoE
  biased  ///< made when attention is done, with a bias for each head: Beam
};

/// Which queries are scaled.
enum class QueryScale : std::uint8_t {
  none,
  of_unrotated  ///< in fp32, by their positions: Beam
};

/// By what values are multiplied.
enum class ValueScale : std::uint8_t {
  none,
  number  ///< MiMo-V2
};

/// How many heads keys and values have.
enum class KeyValueHeads : std::uint8_t {
  configured,
  doubled_in_windows  ///< twice as many in layers with a window: MiMo-V2
};

struct AttentionCode {
  const char* name = "self_attn";
  AttentionKind kind = AttentionKind::plain;
  ProjectionCode projection = {};
  QkNormCode qk_norm = {};
  SinkCode sinks = SinkCode::none;
  AttentionGate gate = AttentionGate::none;
  QueryScale query_scale = QueryScale::none;
  ValueScale value_scale = ValueScale::none;
  KeyValueHeads heads = KeyValueHeads::configured;
};

}  // namespace highwater
