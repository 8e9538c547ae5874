// The steps of a run that is edited: found as reports find them, without what only makes the blocks
// that are older than a recording.
#pragma once

#include <string>

#include "sim/edits/edit.hpp"
#include "sim/steps/training_steps.hpp"

namespace highwater {

/// Where the run goes on behind its last step (it frees its model), that step ends with what the
/// step before it ended with.
Steps steps_of_run(const EditedRun& run);

/// "steps are those that the run marks", or how they were found, and how sure that is.
std::string where_steps_begin(const Steps& steps);

/// The step that shows what every step does: the next one, else the one before. Null if there is
/// none.
const StepSpan* step_beside(const Steps& steps, const StepSpan& step);

/// The step with this number. @throws UsageError that names those there are
const StepSpan& step_called(const Steps& steps, std::uint64_t number);

}  // namespace highwater
