// Rotary embedding of queries and keys: by Transformer Engine's kernel (apply_rope_fusion), or
// composed of operators, where each layer keeps a cosine and a sine for queries and for keys.
//
// Source: Megatron-Core 0.16.1, core/models/common/embeddings/rope_utils.py (apply_rotary_pos_emb,
// _apply_rotary_pos_emb_bshd).
#pragma once

#include <cstdint>

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// 1 / base ** (arange(0, width, 2) / width) on the device, a plain attribute of a module
/// (RotaryEmbedding.__init__).
eager::Tensor inverse_frequencies(eager::Runtime& runtime, std::int64_t width);

/// `states` are [s, b, heads, d], `frequencies` [s, 1, 1, d].
eager::Tensor composed_rotary(eager::Tensor states, const eager::Tensor& frequencies);

}  // namespace highwater::megatron
