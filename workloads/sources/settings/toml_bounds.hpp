// How deep and how long a TOML text is, found before the parser sees it.
//
// toml++ 3.3 makes a table of every part of a key and walks them by recursion: a key of some ten
// thousand parts exhausts the stack. It bounds nested values only (TOML_MAX_NESTED_VALUES).
//
// Source: TOML v1.0.0, sections Comment, Keys, String, Array, Inline Table, Array of Tables.
#pragma once

#include <string>
#include <string_view>

namespace highwater::detail {

/// @throws InputError with the line for keys of more parts and values nested deeper than
/// kDeepestSetting, and for more than kMostSettings keys or headers
void check_toml_bounds(std::string_view text, const std::string& file);

}  // namespace highwater::detail
