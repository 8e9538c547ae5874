// Options that say how much growth is allowed: --max-growth, --fail-above.
#pragma once

#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/studies/gate/budget.hpp"

namespace highwater {

/// The growth given for `option`, if it was given. What is wrong is appended to `problems`.
std::optional<GrowthLimit> growth_option(const boost::program_options::variables_map& values,
                                         const std::string& option,
                                         std::vector<std::string>& problems);

}  // namespace highwater
