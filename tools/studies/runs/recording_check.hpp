// Whether the plan that a recording carries explains it: the plan is simulated as it was recorded,
// and the peaks of both are set side by side.
//
// What the recorder did not see (a copy of the weights, an evaluation, a hook) is in no plan, and
// neither is what plans cannot say. Only the comparison shows that something is missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/peak/peak_sizes.hpp"
#include "sim/replay/replay_result.hpp"
#include "traces/recording.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater {

/// A recording, and the plan that it carries in words; some are a command's own (rank, capacity,
/// alloc-conf).
struct RecordedPlan {
  std::string file;
  std::shared_ptr<const Recording> recording;
  OptionWords words;
};

struct RecordingCheck {
  std::string file;
  Usage recorded;  ///< the highest values of the run, as its allocator had them
  Usage simulated;
  std::uint64_t recorded_requests = 0;  ///< allocations
  std::uint64_t simulated_requests = 0;
  bool recorded_oom = false;
  bool simulated_oom = false;
  PeakSizes blocks;  ///< at the peak of the recording (first) and of the simulation (second)

  /// simulated / recorded - 1; 0 where nothing was recorded.
  [[nodiscard]] double allocated_error() const;
  [[nodiscard]] double reserved_error() const;

  /// Whether both run out of memory or neither does, and both errors are at most one in a hundred.
  [[nodiscard]] bool is_explained() const;
};

/// Blocks are named as in reports (site_label.hpp).
PeakSizes peak_sizes(const RequestTrace& first, const RequestTrace& second);

/// @throws UsageErrors for a plan that cannot be simulated, InputError for a recording without a
/// history of any device
RecordingCheck check_recording(const RecordedPlan& plan);

/// "the recording held 5.61 GiB (5.43 GiB allocated), its plan explains 4.95 GiB (4.77 GiB): ..."
std::string recording_clause(const RecordingCheck& check);

}  // namespace highwater
