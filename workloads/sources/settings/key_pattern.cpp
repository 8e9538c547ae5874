#include "workloads/sources/settings/key_pattern.hpp"

#include <algorithm>

#include "workloads/sources/settings/setting.hpp"

namespace highwater {
namespace {

/// What stands between two '*' may stand anywhere: its first place leaves most to what follows, so
/// nothing is ever tried twice.
bool holds_in_order(std::string_view parts, std::string_view text) {
  while (!parts.empty()) {
    const std::size_t star = std::min(parts.find('*'), parts.size());
    const std::size_t found = text.find(parts.substr(0, star));
    if (found == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(found + star);
    parts.remove_prefix(std::min(star + 1, parts.size()));
  }
  return true;
}

}  // namespace

KeyPattern::KeyPattern(std::string_view pattern) : pattern_(common_key(pattern)) {}

bool KeyPattern::matches_common(std::string_view key) const {
  const std::string_view pattern = pattern_;
  const std::size_t first = pattern.find('*');
  if (first == std::string_view::npos) {
    return pattern == key;
  }
  const std::size_t last = pattern.rfind('*');
  const std::string_view end = pattern.substr(last + 1);
  if (key.size() < first + end.size() || !key.starts_with(pattern.substr(0, first)) ||
      !key.ends_with(end)) {
    return false;
  }
  const std::string_view between = key.substr(first, key.size() - first - end.size());
  return first == last || holds_in_order(pattern.substr(first + 1, last - first - 1), between);
}

bool matches_key(std::string_view pattern, std::string_view key) {
  return KeyPattern(pattern).matches_common(common_key(key));
}

}  // namespace highwater
