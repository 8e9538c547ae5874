// flex_attention compiled by Inductor, and the block mask that it is given.
//
// Source: torchtitan 0.3, models/common/attention.py (FlexAttention,
// get_efficient_causal_mask_mod_for_packed_document, create_attention_mask); PyTorch 2.15,
// nn/attention/flex_attention.py (create_block_mask) and _inductor/kernel/flex/flex_attention.py.
// Compiled code allocates its buffers where they are first written and frees its inputs after their
// last use; what the compiler itself does on the device in the first step is left out.
#pragma once

#include <vector>

#include "workloads/eager/ops.hpp"

namespace highwater::torchtitan {

/// What a kernel reads of a BlockMask: numbers and indices of blocks, and what the mask function
/// captures.
using BlockMask = std::vector<eager::Tensor>;

/// The mask of packed documents, from [batch, seq] positions.
BlockMask document_mask(const eager::Tensor& positions);

/// The part of a mask for the queries of one of `ranks` that share the sequence; `mask` goes.
BlockMask shared_mask(BlockMask mask, const eager::Tensor& positions, int ranks);

/// Of [b, s, heads, d] operands; the result is [b, s, heads, d], too.
eager::Tensor flex_attention(const eager::Tensor& query, const eager::Tensor& key,
                             const eager::Tensor& value);

}  // namespace highwater::torchtitan
