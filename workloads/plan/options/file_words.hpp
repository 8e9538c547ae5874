// What a file may say of a plan.
//
// A configuration, a launch script, a grid or the part of a shard may come from somebody else, and
// to read it must run nothing of theirs. So a file says values. What names a program or Python code
// to run is only taken from whoever types the command.
#pragma once

#include <string>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {

/// What is wrong with a word of a file; absent if a file may say it.
Complaint complaint_about_file_word(const OptionWord& word);

}  // namespace highwater
