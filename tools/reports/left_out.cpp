#include "tools/reports/left_out.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace highwater {

std::string left_out_sentence(const std::vector<LeftOutKey>& keys) {
  if (keys.empty()) {
    return "";
  }
  std::vector<LeftOutKey> signed_keys = keys;
  for (LeftOutKey& each : signed_keys) {
    each.key += fmt::format(" ({})", to_string(each.sign));
  }
  return fmt::format("not in this answer: {}; the notes at the end say why",
                     key_names(signed_keys));
}

}  // namespace highwater
