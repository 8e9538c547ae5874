// What a plan of --from does not explain of the recording that it was read from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/studies/runs/recording_check.hpp"

namespace highwater {

class Report;

/// "4 x 392.63 MiB (plan: 3): 2 (no stack recorded), 1 train.py:15 forward": sizes of which the
/// recording holds more at its peak than its plan, the most bytes first; their sites. Differences
/// of less than a thousandth of the peak are left out.
std::vector<std::string> unexplained_blocks(const RecordingCheck& check, std::size_t most);

/// Sizes of which the plan holds more.
std::vector<std::string> unrecorded_blocks(const RecordingCheck& check, std::size_t most);

/// What is missing, and what to ask instead. @pre the plan does not explain the recording
void add_unexplained(const RecordingCheck& check, Report& report);

}  // namespace highwater
