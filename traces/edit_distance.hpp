// How far apart two words are: for "did you mean".
#pragma once

#include <cstddef>
#include <string_view>

namespace highwater {

/// Insertions, removals and replacements of single characters that turn `a` into `b` (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace highwater
