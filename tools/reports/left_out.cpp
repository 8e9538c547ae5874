#include "tools/reports/left_out.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {

std::string left_out_sentence(const std::vector<std::string>& keys) {
  constexpr std::size_t kNamed = 4;
  if (keys.empty()) {
    return "";
  }
  const std::vector<std::string> named(
      keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, keys.size())));
  const std::string others =
      keys.size() > kNamed ? fmt::format(" and {} more", keys.size() - kNamed) : "";
  return fmt::format("not in this answer: {}{}; the notes at the end say why",
                     fmt::join(named, ", "), others);
}

}  // namespace highwater
