// The plan that `highwater record` wrote into a recording, as options.
//
// The recorder says what it saw; which option that becomes, and what has none, is decided here, so
// that older recordings profit from newer options.
#pragma once

#include <string>
#include <string_view>

#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// @throws InputError for text that is no such plan; `file` names the recording
PlanSource plan_of_recording(std::string_view text, const std::string& file);

}  // namespace highwater
