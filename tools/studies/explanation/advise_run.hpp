// Advice on allocator settings for one workload, and how far its data allows any.
//
// Advice rests on replays under other settings, so it is worth as much as a replay under the
// workload's own settings is worth: what such a free replay gets wrong of the recorded peak counts
// as noise, and beyond some error nothing is advised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/settings/advice.hpp"
#include "tools/studies/runs/workload.hpp"

namespace highwater {

/// How well the requests alone reproduce what happened.
struct Trustworthiness {
  std::optional<double> addresses;  ///< share of recorded addresses that were reproduced, if any
  std::optional<double> segment_events;  ///< the same of segment entries
  std::optional<double> final_segments;  ///< the same of segments of the snapshot
  std::optional<std::string> why_not;    ///< why nothing is advised
};

struct AdviceReport {
  Workload workload;
  Trustworthiness trust;
  std::optional<Advice> advice;  ///< absent if the data does not support any
  std::uint64_t steps = 0;       ///< of the run, 0 when none were found; figures per step
};

/// Below this share of equal decisions or segments, or above this error, nothing is advised.
inline constexpr double kLeastFidelity = 0.9;
inline constexpr double kMostPeakError = 0.1;

/// Gains below this share of the peak are noise even if the replay is exact: two runs of one
/// program usually differ by less than 2 %.
inline constexpr double kLeastGain = 0.02;

/// Some dozens of replays. `asked`: settings strings that are tried as well, each in the place of
/// all settings. @throws InputError as replay(), and for a string that the release would refuse
AdviceReport advise(Workload workload, const std::vector<std::string>& asked = {});

}  // namespace highwater
