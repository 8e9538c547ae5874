// The positions of a sequence as transformers' decoders number them.
#pragma once

#include "workloads/models/language_model.hpp"

namespace highwater::models {

/// torch.arange(length) + past_seen_tokens
inline eager::Tensor numbered_positions(eager::Runtime& runtime, std::int64_t length) {
  const eager::Tensor plain = eager::arange(runtime, length);
  return eager::add(plain, 0.0);
}

/// position_ids of [1 or batch, length]: those that the script gave, or numbers.
inline eager::Tensor position_ids_of(const Inputs& inputs, eager::Runtime& runtime,
                                     std::int64_t length) {
  return inputs.positions.defined() ? inputs.positions
                                    : eager::unsqueeze(numbered_positions(runtime, length), 0);
}

}  // namespace highwater::models
