// Attention of a decoder of LLaMA's kind: its masks, its projections, norms of queries and keys,
// and how positions turn them.
#pragma once

#include <cstdint>

#include "workloads/plan/model/decoder_block_code.hpp"

namespace highwater {

/// Which layers have the window that a configuration gives.
enum class WindowedLayers : std::uint8_t {
  none,
  all,
  switched,          ///< all, but only with use_sliding_window (Qwen3-MoE)
  listed,            ///< from max_window_layers on, and only with use_sliding_window (Qwen)
  late,              ///< from max_window_layers on (dots.1)
  early_alternate,   ///< every second before max_window_layers, with use_sliding_window (Qwen2-MoE)
  all_but_nth,       ///< every window_pattern-th layer sees everything
  all_but_first_of,  ///< the first of every window_pattern layers sees everything
  unrotated          ///< those without positions, and only with use_sliding_window (SmolLM 3)
};

/// Which masks a forward makes.
enum class MasksMade : std::uint8_t {
  one,
  used_kinds,  ///< one for each kind of layer that there is, kept in a dictionary
  all_kinds    ///< and for a kind of which there is no layer
};

struct MaskCode {
  WindowedLayers windows = WindowedLayers::none;
  std::int64_t window_pattern = 4;
  MasksMade made = MasksMade::one;
  bool without_positions = false;  ///< masks are made without the positions: AFMoE
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
  QkNorm place = QkNorm::none;
  NormKind kind = NormKind::llama;
  bool is_optional = false;  ///< only where the configuration says so
  const char* q_name = "q_norm";
  const char* k_name = "k_norm";
};

/// nn.Linear modules that make queries, keys and values.
enum class QkvProjection : std::uint8_t {
  separate,
  columns,    ///< one, cut into columns: Phi-3
  head_parts  ///< one, each head's three parts side by side: GPT-NeoX
};

/// Which projections have the biases of attention_bias.
enum class AttentionBias : std::uint8_t {
  all,
  inputs,        ///< those of queries, keys and values
  always_inputs  ///< the same, whatever the configuration says: Qwen2
};

/// What is done with queries, keys and values.
enum class AttentionCode : std::uint8_t {
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

struct SelfAttentionCode {
  const char* name = "self_attn";
  AttentionCode code = AttentionCode::plain;
  AttentionBias bias = AttentionBias::all;
  QkvProjection projection = QkvProjection::separate;
  const char* fused_name = "qkv_proj";  ///< of the one projection of queries, keys and values
  bool makes_output_first = false;      ///< before that projection: Phi-3
  const char* output_name = "o_proj";
  bool views_heads_late = false;  ///< heads are told apart when all three are projected: OLMo
  AttentionGate gate = AttentionGate::none;
  SinkCode sinks = SinkCode::none;
  bool scales_unrotated_queries = false;  ///< in fp32, by their positions: Beam
  bool scales_values = false;             ///< by a number: MiMo-V2
  bool doubles_windowed_heads = false;    ///< key-value heads of layers with a window: MiMo-V2
};

/// How apply_rotary_pos_emb turns queries and keys.
enum class Rotation : std::uint8_t {
  halves,           ///< LLaMA
  halves_cast,      ///< tables in fp32, results cast back: OLMo
  wide_pairs,       ///< in fp32, pairs of neighbours: Cohere
  pairs,            ///< tables repeated for pairs of neighbours: Helium
  pairs_cast,       ///< the same in fp32, results cast back: ERNIE 4.5
  partial_pairs,    ///< the first columns, pairs of neighbours: GLM
  partial_inside,   ///< the first columns, joined again one after the other: GPT-NeoX
  partial_return,   ///< the same, joined by the return statement: Nemotron
  partial_joined,   ///< the same, turned within the join: Phi-3
  partial_outside,  ///< cut and joined by the attention itself: Phi, StableLM
  partial_rebound   ///< the same, each bound to its old name: GPT-NeoX-Japanese
};

/// Which layers turn queries and keys at all.
enum class RotatedLayers : std::uint8_t {
  all,
  listed,             ///< no_rope_layers: SmolLM3
  windowed,           ///< those with a window: Cohere 2
  windowed_or_dense,  ///< and those whose feed-forward part is no mixture: Cohere 2 MoE
  windowed_if_any     ///< the same, all where the configuration has no window: EXAONE 4
};

/// The tables of a forward.
enum class RotaryTables : std::uint8_t {
  cast,             ///< in the type of the hidden states
  wide,             ///< in fp32
  interleaved,      ///< cast, each frequency twice in a row: Cohere
  complex_numbers,  ///< of length 1, in place of cosines and sines: DeepSeek-V2
  per_kind,         ///< cast, one pair for each kind of layer: Gemma 3
  wide_per_kind
};

constexpr bool has_tables_per_kind(RotaryTables tables) {
  return tables == RotaryTables::per_kind || tables == RotaryTables::wide_per_kind;
}

constexpr bool are_wide(RotaryTables tables) {
  return tables == RotaryTables::wide || tables == RotaryTables::wide_per_kind;
}

struct RotaryCode {
  Rotation rotation = Rotation::halves;
  RotatedLayers layers = RotatedLayers::all;
  RotaryTables tables = RotaryTables::cast;
  bool has_unused_tables = false;  ///< layers turn by tables of a second module: Granite SWA
  bool tables_come_first = true;   ///< blocks are called with them before the ids
};

}  // namespace highwater
