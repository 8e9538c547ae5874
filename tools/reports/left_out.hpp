// The line under an answer about a plan of --from that names what the answer leaves out: a verdict
// must not hide that a key of the file was misspelt, or is not simulated.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/runs/left_out.hpp"

namespace highwater {

/// Empty if nothing is left out.
std::string left_out_sentence(const std::vector<LeftOutKey>& keys);

}  // namespace highwater
