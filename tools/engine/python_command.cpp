#include "tools/engine/python_command.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/parse_text.hpp"

namespace highwater {

std::vector<std::string> python_command(const std::string& python, std::string_view code,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> command{
      python, "-c", fmt::format("import sys; sys.path[:] = filter(None, sys.path); {}", code)};
  std::ranges::copy(words, std::back_inserter(command));
  return command;
}

Environment python_environment(Environment base) {
  base["PYTHONSAFEPATH"] = "1";
  if (const auto found = base.find("PYTHONPATH"); found != base.end()) {
    std::vector<std::string> folders = split(found->second, ':');
    std::erase_if(folders, [](const std::string& folder) { return !folder.starts_with('/'); });
    found->second = fmt::format("{}", fmt::join(folders, ":"));
  }
  return base;
}

}  // namespace highwater
