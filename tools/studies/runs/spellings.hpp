// Ways of writing a script that are as common as the one that a plan means by default, and take
// other memory: what a user types first does not say which of them the script has.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/replay/replay_result.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"

namespace highwater {

struct Spelling {
  std::string_view option;  ///< that says it: "keep-logits"
  std::string_view word;
  std::string_view code;         ///< how a script says it: "loss = model(...).loss"
  std::string_view also_option;  ///< what else it says; empty: nothing
  std::string_view also_word;
};

struct SpelledRun {
  Spelling spelling;
  Usage peak;
  std::optional<bool> fits;  ///< absent without a limit
};

/// The run written in each of the other ways, as far as `run` leaves it open and the peaks differ
/// from `told` by one part in a hundred or more. Loops of frameworks are written once, but for
/// their adapters. By torch, which takes seconds for each, only some are tried.
std::vector<SpelledRun> other_spellings(const PlannedRun& run, const MemoryRequest& memory,
                                        const Usage& told);

}  // namespace highwater
