// A key of a program's file as its rules call it: without the sections and wrappers that say
// nothing, and by the name that the files it includes have for it.
#pragma once

#include <string>
#include <string_view>

#include "workloads/sources/rules/program_row.hpp"

namespace highwater {

/// "training.enable_gradient_checkpointing" of oumi is "gradient_checkpointing".
std::string plain_key(const Program& program, std::string_view key);

}  // namespace highwater
