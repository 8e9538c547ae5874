// Captures of CUDA graphs as edits name them: "1+2/3" is two lists, of the first two and of the
// third.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace highwater {

/// Numbered from 0. Absent: not such lists.
std::optional<std::vector<std::vector<std::size_t>>> parse_capture_lists(std::string_view text);

}  // namespace highwater
