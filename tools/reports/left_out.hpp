// The line under an answer about a plan of --from that names what the answer leaves out: a verdict
// must not hide that a key of the file was misspelt, or is not simulated.
#pragma once

#include <string>
#include <vector>

namespace highwater {

/// Empty if nothing is left out.
std::string left_out_sentence(const std::vector<std::string>& keys);

}  // namespace highwater
