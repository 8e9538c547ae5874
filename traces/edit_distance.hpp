// How far apart two words are: for "did you mean".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

/// Insertions, removals, replacements and swaps of neighbours that turn `a` into `b` (optimal
/// string alignment). Of what is longer than any word, the length: nobody meant it to be another.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word of `known` that `word` was probably meant to be: at most a third of it differs, or one
/// character of a short word.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace highwater
