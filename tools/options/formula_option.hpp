// The closed forms that a command line names.
#pragma once

#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

std::vector<std::string> formula_names();

/// The forms that --formula names, separated by commas; all if it is absent or "all". What is wrong
/// is appended to `problems`.
std::vector<const Formula*> formula_option(const boost::program_options::variables_map& values,
                                           std::vector<std::string>& problems,
                                           const std::string& option = "formula");

}  // namespace highwater
