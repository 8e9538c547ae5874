// What a snapshot's memory is for, in a size that does not depend on the snapshot's: the largest
// holders at the highest live bytes, and how much more lives from step to step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/steps/robust_growth.hpp"
#include "sim/steps/training_steps.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

enum class HeldBy : std::uint8_t { category, phase, site };

/// "category", "phase", "site"
std::string_view to_string(HeldBy by);

/// Live requested bytes at the peak of one category, made in one phase, or asked for at one site
/// (site_label.hpp).
struct HeldPart {
  HeldBy by = HeldBy::site;
  std::string name;
  Bytes bytes;

  bool operator==(const HeldPart&) const = default;
};

/// Of each kind the largest `most` first; kinds of which the trace says nothing are left out.
std::vector<HeldPart> held_at_peak(const RequestTrace& trace, std::size_t most = 16);

/// Of live requested bytes at the ends of complete steps; where markers tell steps, without the
/// first, which also sets up what stays (memory_growth.hpp).
struct StepGrowth {
  std::uint64_t steps = 0;  ///< that were looked at
  Growth live;              ///< all 0 for fewer than three steps
};

StepGrowth step_growth(const RequestTrace& trace, const Steps& steps);

}  // namespace highwater
