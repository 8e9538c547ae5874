#include "workloads/sources/settings/shell_place.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

std::string ShellPlace::line() const {
  return fmt::format("line {}", 1 + std::ranges::count(script.substr(0, at), '\n'));
}

void ShellPlace::fail(std::string_view problem, std::string_view remedy) const {
  throw InputError(file, line(), problem, remedy);
}

}  // namespace highwater
