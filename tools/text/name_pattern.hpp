// Patterns by which a command line chooses among names.
#pragma once

#include <string_view>

namespace highwater {

/// Whether one of `patterns`, separated by commas, matches `name`: words with * and ? as a whole,
/// others as a part of it.
bool matches_any(std::string_view name, std::string_view patterns);

}  // namespace highwater
