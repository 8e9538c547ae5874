// The peak view of `diff`: both sides replayed, and their peaks broken down.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/peak/peak_change.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/workload.hpp"

namespace highwater {

/// One side: what it did and what it reserved at its peak.
struct WorkloadPeak {
  Workload workload;
  PeakBreakdown peak;
};

struct PeakDiff {
  WorkloadPeak first;
  WorkloadPeak second;
  PeakChange change;
  std::vector<std::string> notes;  ///< notes for the reader of the numbers
};

/// A file, and the settings to replay it under if not its own.
struct PeakRequest {
  std::string path;
  MemoryRequest memory;
  std::optional<std::string> torch;  ///< the release whose allocator serves it
  std::optional<int> device;         ///< else the one that reserves most
  ReadingOptions reading;
};

/// Its peak taken apart, in two replays. @pre `workload` is watchable
PeakBreakdown peak_breakdown(const Workload& workload);

/// The same with the workload that it refers to.
WorkloadPeak peak_of(Workload workload);

/// Names are those of the reports (site_label.hpp).
NamedPeak named_peak(const WorkloadPeak& workload);

/// @throws InputError, UsageError
WorkloadPeak workload_peak(const PeakRequest& request, std::vector<std::string>& notes);

/// Both must outlive the side.
PeakSide peak_side(const Workload& workload, const PeakBreakdown& peak);

PeakChange change_between(const WorkloadPeak& first, const WorkloadPeak& second);

/// Adds a note if the device calls of the two sides are not counted in the same way.
void note_older_blocks(PeakDiff& diff);

}  // namespace highwater
