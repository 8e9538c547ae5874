// Where in a stage's actions the same is done again and again for later micro-batches: a forward
// and a backward pass in turn while the pipeline is full (1F1B), or a group of micro-batches
// through all chunks (interleaved).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "workloads/plan/pipeline/pipeline_actions.hpp"

namespace highwater::dist {

/// Micro-batches from `first` to `last`, both included.
struct MicroBatches {
  int first = 0;
  int last = 0;

  [[nodiscard]] bool has(int micro_batch) const {
    return first <= micro_batch && micro_batch <= last;
  }
};

/// `times` rounds of `length` actions each, one behind the other; each does for micro-batches
/// `later` by so many what the round before it did.
struct ActionRounds {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::size_t times = 0;
  int later = 0;

  [[nodiscard]] std::size_t begin_of(std::size_t round) const { return begin + round * length; }
};

/// The longest stretch of rounds of `later` micro-batches that concern those of `within` only;
/// nothing if there are no two.
std::optional<ActionRounds> action_rounds(const std::vector<PipelineAction>& actions, int later,
                                          MicroBatches within);

}  // namespace highwater::dist
