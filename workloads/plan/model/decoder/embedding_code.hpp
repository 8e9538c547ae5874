// A decoder's embedding of tokens: by what it is multiplied, where, and under which names
// (modeling_NAME.py of transformers 5.23).
#pragma once

#include <cstdint>

namespace highwater {

/// The one step that multiplies the embedding.
enum class EmbeddingScale : std::uint8_t {
  none,
  buffer,               ///< in its module, by a buffer of the model's type: Gemma
  integer_buffer,       ///< the same, by an int64: MiniCPM 3
  number,               ///< by a number, before positions and masks: Granite
  number_behind_masks,  ///< the same, behind the masks: Granite MoE
  number_of_states      ///< the same, behind the dropout, which gets another name: AFMoE
};

/// What the embedding behind its dropout is bound to.
enum class DropoutName : std::uint8_t {
  inputs_embeds,
  hidden_states  ///< so that the embedding lives on: GPT-NeoX, StarCoder 2
};

struct EmbeddingCode {
  const char* name = "embed_tokens";
  EmbeddingScale scale = EmbeddingScale::none;
  DropoutName dropout = DropoutName::inputs_embeds;
};

}  // namespace highwater
