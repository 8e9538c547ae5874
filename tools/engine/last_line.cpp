#include "tools/engine/last_line.hpp"

namespace highwater {

std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string_view::npos) {
    return {};
  }
  const std::size_t before = text.find_last_of('\n', end);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

}  // namespace highwater
