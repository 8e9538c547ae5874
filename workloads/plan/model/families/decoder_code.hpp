// Where the Python code of a decoder of LLaMA's kind differs from LLaMA's, whatever a configuration
// says: norms, their places, projections, rotary positions, feed-forward part, multipliers. A
// family is a row of these facts; one forward (models/decoders) reads them, so that no family needs
// a forward of its own. Source of each value: modeling_NAME.py of transformers 5.23.
#pragma once

#include <cstdint>

namespace highwater {

struct Family;

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

/// How the parts of a block are added up.
enum class Residual : std::uint8_t {
  sequential,      ///< x + attention, then x + feed-forward
  parallel,        ///< x + attention + feed-forward of the same normed x: Cohere
  parallel_last,   ///< attention + feed-forward + x, each dropped out: Phi
  two_norms,       ///< feed-forward + attention + x, each part with its own norm: GPT-NeoX
  kept_attention,  ///< sequential, but the attention's output has a name of its own: StableLM
  named_dropout    ///< the same, and each part is dropped out before: GPT-NeoX-Japanese
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

/// nn.Linear modules that make queries, keys and values.
enum class QkvProjection : std::uint8_t {
  separate,
  columns,    ///< one, cut into columns: Phi-3
  head_parts  ///< one, each head's three parts side by side: GPT-NeoX
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

enum class MlpCode : std::uint8_t {
  gated,        ///< down(act(gate(x)) * up(x))
  wide_gated,   ///< down((act(gate(x).float()) * up(x).float()).to(...)): Beam
  fused_gated,  ///< gate and up in one projection: Phi-3, GLM
  plain         ///< narrow(act(widen(x)))
};

/// How the gate of a mixture of experts chooses.
enum class ExpertGateCode : std::uint8_t {
  none,               ///< no mixture
  softmax,            ///< the best of all, perhaps made to sum to 1: Qwen2-MoE
  topk_first,         ///< a softmax of the best: Granite MoE
  best_scores,        ///< the best, then a softmax or a sigmoid of them: Cohere 2 MoE
  sigmoid,            ///< with a correction, made to sum to 1: MiniMax-M2
  scaled_sigmoid,     ///< the same, then multiplied by a number: AFMoE
  grouped,            ///< the best of the best groups: DeepSeek-V3
  grouped_late_scale  ///< the same, and the experts' sum is multiplied: Beam
};

/// What is done to the logits behind the head.
enum class LogitsCode : std::uint8_t {
  plain,
  scaled,
  soft_capped,
  wide_soft_capped  ///< in fp32: Beam
};

/// Where a family's Python code differs from LLaMA's.
struct LlamaCode {
  const Family& (*family)();
  WindowedLayers windows = WindowedLayers::none;
  std::int64_t window_pattern = 4;
  bool has_qkv_bias = false;          ///< q, k and v always have biases, o never
  bool has_output_bias = true;        ///< o has one where attention_bias says so
  bool has_mask_per_kind = false;     ///< a mask for each kind of layer, kept in a dictionary
  bool makes_unused_masks = false;    ///< that of a kind of which there is no layer, too
  bool names_positions_last = true;   ///< blocks are called with the rotary tables before the ids
  bool has_scaled_embedding = false;  ///< the embedding is multiplied by a buffer: Gemma
  bool has_integer_scale = false;     ///< which is an integer: MiniCPM 3
  bool multiplies_embedding = false;  ///< it is multiplied by a number: Granite
  bool multiplies_embedding_late = false;  ///< behind the masks: Granite MoE
  bool multiplies_states = false;          ///< and gets another name: AFMoE
  bool asks_no_positions = false;          ///< masks are made without the positions: AFMoE
  bool has_layer_inputs = false;           ///< each layer is given an embedding of its own: Gemma 4
  bool has_layer_scalar = false;           ///< a block's result is multiplied by a buffer: Gemma 4
  bool scales_both = false;                ///< residuals and outputs of both parts: Beam
  bool multiplies_residual = false;        ///< so are the outputs of both parts of a block
  bool names_hidden_dropout = false;       ///< the dropout of the embedding gets a name of its own
  bool drops_output = false;  ///< residual_dropout is at the end of both parts: StarCoder 2
  bool has_head_bias = false;
  bool scales_unrotated_queries = false;  ///< in fp32, by their positions: Beam
  bool scales_values = false;             ///< by a number: MiMo-V2
  bool doubles_windowed_heads = false;    ///< key-value heads of layers with a window: MiMo-V2
  bool divides_states = false;  ///< the head gets the hidden states divided by a number: MiniCPM 3
  bool has_unused_tables = false;  ///< layers turn by tables of a second module: Granite SWA
  NormKind norm = NormKind::llama;
  BlockNorms norms = {};
  bool has_sub_norms = false;  ///< norms before both parts' last projections: BitNet
  NormsMade norms_made = NormsMade::last;
  bool has_optional_post_norms = false;  ///< those behind the parts: HyperCLOVA X
  Residual residual = Residual::sequential;
  QkNorm qk_norm = QkNorm::none;
  bool has_optional_qk_norm = false;  ///< only where the configuration says so
  NormKind qk_norm_kind = NormKind::llama;
  AttentionCode attention = AttentionCode::plain;
  SinkCode sinks = SinkCode::none;
  AttentionGate attention_gate = AttentionGate::none;
  const char* q_norm_name = "q_norm";
  const char* k_norm_name = "k_norm";
  QkvProjection projection = QkvProjection::separate;
  bool views_heads_late = false;  ///< heads are told apart when all three are projected: OLMo
  Rotation rotation = Rotation::halves;
  RotatedLayers rotated = RotatedLayers::all;
  RotaryTables tables = RotaryTables::cast;
  MlpCode mlp = MlpCode::gated;
  const char* widen_name = "up_proj";  ///< of a plain feed-forward part
  const char* narrow_name = "down_proj";
  const char* attention_name = "self_attn";
  const char* fused_name = "qkv_proj";  ///< of the one projection of queries, keys and values
  bool makes_output_first = false;      ///< before that projection: Phi-3
  const char* output_name = "o_proj";
  const char* model_name = "model";
  const char* embedding_name = "embed_tokens";
  const char* last_norm_name = "norm";
  bool makes_last_norm_last = false;  ///< behind the rotary tables: Phi
  LogitsCode logits = LogitsCode::plain;
  ExpertGateCode gate = ExpertGateCode::none;
  bool has_wide_correction = false;  ///< the gate's buffer is fp32 whatever the model's type
  bool makes_experts_first = false;  ///< before the gate
  bool makes_shared_first =
      false;  ///< shared experts before the others, which they run before, too
  const char* gate_name = "gate";
  const char* mixture_name = "mlp";
  bool names_fed_states =
      false;  ///< what the feed-forward part gives keeps a name: Granite MoE SWA
};

}  // namespace highwater
