// What the HTML report shows: all that `explain` says about a workload, and its history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/peak/memory_bands.hpp"
#include "sim/peak/moments.hpp"
#include "sim/peak/peak_breakdown.hpp"
#include "sim/peak/replay_history.hpp"
#include "tools/html/pool_areas.hpp"
#include "tools/studies/explanation/explain_run.hpp"

namespace highwater {

struct WorkloadRequest;

enum class RunOutcome : std::uint8_t { fits, out_of_memory, unlimited };

struct ReportRun {
  Explanation explained;  ///< the workload is in it
  std::string title;      ///< the file's name, or the plan in one line
  std::string verdict;    ///< one sentence
  RunOutcome outcome = RunOutcome::unlimited;
  std::vector<StackId> stacks;       ///< by AllocationId: who asked for it
  std::vector<Category> categories;  ///< by AllocationId; empty: none is known
  std::optional<Bytes> available;    ///< what the allocator could take, if it is limited
  ReplayHistory history;
  std::vector<MemoryState> states;  ///< of the history's moments, in their order
  BandColumns band_columns;
  std::vector<PoolArea> pools;  ///< at the moments of the columns; empty: no private ones
  SplitBands bands;
  std::uint64_t unseen_blocks = 0;    ///< that live at the moment of no column
  std::optional<PeakBreakdown> peak;  ///< of a run that is compared
  std::vector<std::string> notes;     ///< besides those of the replay
};

/// Whether the page shows one run or two.
enum class ReportUse : std::uint8_t { alone, compared };

/// About the device that the request names, else the one with the highest reserved memory.
/// @throws InputError, UsageError
ReportRun run_for_report(WorkloadRequest request, ReportUse use = ReportUse::alone);

}  // namespace highwater
