// What the HTML report shows: a subject with its history, what pins free memory, and the bounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/blame.hpp"
#include "sim/lower_bound.hpp"
#include "sim/memory_history.hpp"
#include "sim/periods.hpp"
#include "tools/subject.hpp"

namespace highwater {

enum class RunOutcome : std::uint8_t { fits, out_of_memory, unlimited };

struct ReportRun {
  Subject subject;
  std::string title;    ///< the file's name, or the plan in one line
  std::string verdict;  ///< one sentence
  RunOutcome outcome = RunOutcome::unlimited;
  std::vector<StackId> stacks;     ///< by AllocationId: who asked for it
  std::optional<Bytes> available;  ///< what the allocator could take, if it is limited
  Steps steps;
  MemoryHistory history;
  Blame blame;
  FourBars bars;
  std::vector<std::string> notes;  ///< besides those of the replay
};

/// About the device that the request names, else the one with the highest reserved memory.
/// @throws InputError, UsageError
ReportRun run_for_report(SubjectRequest request);

}  // namespace highwater
