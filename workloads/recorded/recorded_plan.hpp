// The plan that a recorded case was made from: each field of `case` becomes one member.
#pragma once

#include <string>

#include "workloads/json/json_field.hpp"
#include "workloads/recorded/recorded_case.hpp"

namespace highwater::recorded {

/// @param recorded the rest of the case: releases, GPU and lengths of the sequences
/// @throws Unsupported
TrainingPlan read_plan(const JsonField& root, const RecordedCase& recorded,
                       const std::string& source);

}  // namespace highwater::recorded
