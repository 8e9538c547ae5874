#include "tools/text/name_pattern.hpp"

namespace highwater {
namespace {

/// Shell patterns of * and ?.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) {
    return name.empty();
  }
  if (pattern.front() == '*') {
    return matches(name, pattern.substr(1)) || (!name.empty() && matches(name.substr(1), pattern));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches(name.substr(1), pattern.substr(1));
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
