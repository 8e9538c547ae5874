// The plan that a recorded case was made from: its option words, with the recorded model, lengths
// of sequences, device and releases.
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
