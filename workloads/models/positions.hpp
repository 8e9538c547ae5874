// The positions of a sequence as transformers' decoders number them.
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::models {

/// torch.arange(length) + past_seen_tokens
inline eager::Tensor numbered_positions(eager::Runtime& runtime, std::int64_t length) {
  const eager::Tensor plain = eager::arange(runtime, length);
  return eager::add(plain, 0.0);
}

}  // namespace highwater::models
