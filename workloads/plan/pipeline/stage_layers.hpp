// Which layers of a model a pipeline stage holds.
//
// Layers are spread evenly if they divide. If they do not, the embedding and the head count as a
// layer each, so the first and the last stage have one fewer (Megatron-Core 0.16,
// transformer_config.py: account_for_embedding_in_pipeline_split and account_for_loss_in_...;
// torchtitan, distributed/pipeline_parallel.py: input_weight and output_weight of 1). The remainder
// goes to the first stages, one each. LLaMA-3.1-405B thus has 7, 8, ..., 8, 7 of its 126 layers on
// 16 stages.
//
// In an interleaved schedule, chunk c of stage s is the virtual stage c * stages + s.
#pragma once

#include <cstdint>
#include <vector>

namespace highwater::dist {

/// Consecutive layers.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] bool contains(std::int64_t layer) const {
    return layer >= first && layer < first + count;
  }

  bool operator==(const LayerRange&) const = default;
};

/// The layers of each of the `chunks` model chunks of `stage`.
/// @pre 0 <= stage < stages, layers >= stages * chunks
std::vector<LayerRange> stage_layers(std::int64_t layers, int stages, int stage, int chunks = 1);

}  // namespace highwater::dist
