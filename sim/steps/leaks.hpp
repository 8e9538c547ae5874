// What steps leave behind: blocks that outlive the step that made them, step after step.
//
// The blocks examined are those made in a complete step, except the last one, that are still alive
// when that last one ends. A call stack leaks when at least half of those steps, and at least two,
// have left such blocks: what is made once (caches, optimizer states) does not count, nor does what
// the next step frees (gradients until zero_grad).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/peak/holders.hpp"
#include "sim/steps/training_steps.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// The blocks that one call stack leaves behind.
struct LeakSite {
  /// As asked for, alive when the last complete step ends. Where no stack was recorded, sites are
  /// told apart by size.
  StackHolder left;
  std::optional<Bytes> size;  ///< of each block, when told apart by it
  std::uint64_t steps = 0;    ///< steps that left some behind
  double bytes_per_step = 0;  ///< on average over the steps examined
};

/// Most bytes first; `spans` as in Steps::steps.
std::vector<LeakSite> find_leaks(const RequestTrace& trace, const std::vector<StepSpan>& spans);

}  // namespace highwater
