// A decoder's rotary positions: the tables of a forward, the layers that turn by them, and how
// (modeling_NAME.py of transformers 5.23).
#pragma once

#include <cstdint>

namespace highwater {

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

/// The modules that make tables.
enum class TableModules : std::uint8_t {
  one,
  second_used  ///< layers turn by those of a second module, the first's are unused: Granite SWA
};

/// The order in which the call of a block names its keywords.
enum class PositionOrder : std::uint8_t {
  tables_first,  ///< the rotary tables before the ids of positions
  ids_first      ///< Mistral, Gemma
};

struct PositionCode {
  PositionOrder order = PositionOrder::tables_first;
  Rotation rotation = Rotation::halves;
  RotatedLayers rotated = RotatedLayers::all;
  RotaryTables tables = RotaryTables::cast;
  TableModules modules = TableModules::one;
};

}  // namespace highwater
