// What a reduced program still has to show.
#pragma once

#include <variant>

#include "sim/oom/oom_explanation.hpp"
#include "sim/replay/replay_result.hpp"
#include "traces/units.hpp"

namespace highwater {

/// The last request fails, and no earlier one; for the same cause.
struct KeptFailure {
  OomCause cause = OomCause::capacity;
};

/// The highest reserved memory is at least that.
struct KeptPeak {
  Bytes least;
};

/// Fragmentation::peak (1 - peak active / peak reserved) is at least that.
struct KeptFragmentation {
  double least = 0;
};

using KeptProperty = std::variant<KeptFailure, KeptPeak, KeptFragmentation>;

/// Whether a run with these peaks shows a property of peaks; false for KeptFailure, which is none.
bool is_shown_by(const Usage& peak, const KeptProperty& property);

}  // namespace highwater
