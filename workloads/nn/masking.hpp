// Attention masks as created by transformers 5.12 (masking_utils.py).
#pragma once

#include <optional>

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// The arguments of create_causal_mask.
struct MaskRequest {
  const Tensor& inputs_embeds;
  const Tensor& attention_mask;  ///< [batch, seq] or undefined
  const Tensor& position_ids;    ///< [1 or batch, seq] or undefined
  bool has_cache = false;
  std::optional<std::int64_t> sliding_window;  ///< create_sliding_window_causal_mask
  bool always = false;                         ///< not allow_is_causal_skip
};

/// The 4-D mask: undefined if SDPA's is_causal suffices, boolean for SDPA with sliding windows,
/// in the embeddings' dtype for eager attention.
Tensor create_causal_mask(const ModelContext& context, const MaskRequest& request);

/// create_bidirectional_mask, the mask of encoders: none is made if nothing is padded, but the
/// question costs blocks.
void look_for_padding(const Tensor& attention_mask);

}  // namespace highwater::nn
