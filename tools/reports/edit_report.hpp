// What --edit changed before a replay: what each edit did, assumed and cannot know.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/runs/replay_run.hpp"

namespace highwater {

/// A line for each edit and each thing to know about it, then the peak without them.
std::vector<std::string> edit_notes(const EditedReplay& edited);

}  // namespace highwater
