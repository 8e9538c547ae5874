#include "tools/text/site.hpp"

#include <algorithm>

namespace highwater {

Site site_of(const SideTables& tables, StackId stack) {
  Site site;
  if (!stack.has_value()) {
    return site;
  }
  for (const FrameId id : tables.stacks.stack(stack)) {
    const Frame& frame = tables.stacks.frame(id);
    const std::string_view kind = tables.strings[frame.file];
    std::string& part = kind == "module"     ? site.module
                        : kind == "autograd" ? site.autograd
                                             : site.op;
    if (part.empty()) {
      part = tables.strings[frame.function];
    }
  }
  return site;
}

std::string without_indices(std::string_view path) {
  const auto is_index = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  std::string result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, end);
    result += is_index(part) ? "*" : part;
    result += end < path.size() ? "." : "";
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return result;
}

}  // namespace highwater
