// What --help says about an option of a plan: its words, its default and where that is from.
#pragma once

#include <string>
#include <vector>

#include "workloads/plan/options/option.hpp"

namespace highwater {

/// One sentence: what it is, its words, its default.
std::string short_help(const Option& option);

/// Everything, in paragraphs: what it is, then the defaults with their sources.
std::vector<std::string> full_help(const Option& option);

/// "default fp32 (SOURCE)", and a line for each framework that has another value.
std::vector<std::string> default_lines(const Option& option);

}  // namespace highwater
