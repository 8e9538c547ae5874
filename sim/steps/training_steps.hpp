// The training steps of a trace, found without annotations where there are none.
//
// Sources, the first that answers wins:
//   markers     the trace's own `step` events
//   boundaries  events where, as the caller knows, steps begin (profiler annotations)
//   optimizer   runs of allocations made inside torch/optim: a step ends after each of them
//   repetition  the longest stretch of the run in which requests repeat with a fixed period: equal
//               (size, stream), else equal (call stack, stream) when shapes vary. Linear time: the
//               Z-algorithm from several anchors (Main & Lorentz, J. Algorithms 5, 1984)
//   landmarks   a request that comes back at even distances, though what lies between varies
//               (gradients keep their size when sequence lengths do not)
// Where the source gives a period but no begin, steps are cut where the live bytes are lowest.
// Layers repeat, too: a repetition that keeps more than a quarter of what it takes does not consist
// of steps. A run without repetition has no steps: an empty list is a valid answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

enum class StepSource : std::uint8_t {
  none,
  markers,
  boundaries,
  optimizer,
  repetition,
  evenly_spaced
};

/// "none", "markers", ...
std::string_view to_string(StepSource source);

/// Events [begin, end) of the trace.
struct StepSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t number = 0;  ///< the marker's, else counted from 0
  bool complete = true;      ///< false: the trace may end (or begin) inside it
};

struct Steps {
  StepSource source = StepSource::none;
  /// 0 to 1. Known steps (markers, boundaries): 1. Found ones: the share of the trace's allocation
  /// requests that lie in the steps and equal the one at the same place in the step before, by size
  /// and stream or by call stack and stream (those of the first step count as equal).
  double confidence = 0;
  std::size_t allocations_per_step = 0;  ///< the median over complete steps
  std::vector<StepSpan> steps;           ///< in order and adjoining; start-up and tail left out
};

/// `boundaries`: events (indices, ascending) at which steps are known to begin; may be empty.
Steps find_steps(const RequestTrace& trace, std::span<const std::size_t> boundaries = {});

}  // namespace highwater
