// What the HTML report is about: one device of a file, or one plan, replayed and its history kept.
//
// The history is that of the replay whose numbers are shown: a recording under its own settings as
// it was recorded, everything else by a free replay.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/blame.hpp"
#include "sim/memory_history.hpp"
#include "tools/replay_run.hpp"
#include "tools/simulate_run.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

enum class RunOutcome : std::uint8_t { fits, out_of_memory, unlimited };

struct ReportRun {
  std::string title;    ///< the file's name, or the plan in one line
  std::string verdict;  ///< one sentence
  std::string trust;    ///< the trust line
  bool is_plan = false;
  RunOutcome outcome = RunOutcome::unlimited;
  DeviceReplay replay;
  std::shared_ptr<const RequestTrace> trace;  ///< what was replayed
  std::vector<StackId> stacks;                ///< by AllocationId: who asked for it
  std::optional<Bytes> available;             ///< what the allocator could take, if it is limited
  MemoryHistory history;
  Blame blame;
};

/// The device that the request names, else the one with the highest reserved memory.
ReportRun run_for_report(const TraceFile& file, const std::string& name,
                         const ReplayRequest& request);

ReportRun run_for_report(const PlannedRun& plan, const MemoryRequest& memory);

}  // namespace highwater
