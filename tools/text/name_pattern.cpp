#include "tools/text/name_pattern.hpp"

namespace highwater {
namespace {

/// Shell patterns of * and ?. What an earlier * stands for need not be tried again once a later one
/// is reached, so the time grows with the product of the lengths.
bool matches(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;  // the last one
  std::size_t behind_star = 0;                // where the rest of the name begins
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      behind_star = at;
    } else if (in_pattern < pattern.size() &&
               (pattern[in_pattern] == '?' || pattern[in_pattern] == name[at])) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

}  // namespace

bool matches_any(std::string_view name, std::string_view patterns) {
  while (true) {
    const std::size_t comma = patterns.find(',');
    const std::string_view pattern = patterns.substr(0, comma);
    const bool is_glob = pattern.find_first_of("*?") != std::string_view::npos;
    if (is_glob ? matches(name, pattern) : name.find(pattern) != std::string_view::npos) {
      return true;
    }
    if (comma == std::string_view::npos) {
      return false;
    }
    patterns.remove_prefix(comma + 1);
  }
}

}  // namespace highwater
