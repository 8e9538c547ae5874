// The part of a decoder that one pipeline stage holds. The rest of the model does not exist there.
#pragma once

#include <cstdint>

namespace highwater::nn {

/// Consecutive blocks, with or without the embedding before and the head after them.
struct ModelPart {
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;
  bool has_embedding = true;
  bool has_head = true;            ///< the last norm and the head
  std::int64_t layers_before = 0;  ///< of earlier parts of the same rank

  bool operator==(const ModelPart&) const = default;
};

}  // namespace highwater::nn
