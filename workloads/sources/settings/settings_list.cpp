#include "workloads/sources/settings/settings_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"

namespace highwater::detail {

void check_count(std::size_t count, const std::string& file, std::string_view where) {
  if (count >= kMostSettings) {
    throw InputError(file, where, fmt::format("more than {} settings", kMostSettings),
                     "give the configuration of a training run");
  }
}

void check_depth(std::size_t depth, const std::string& file, std::string_view key) {
  if (depth > kDeepestSetting) {
    throw InputError(file, key.substr(0, 60),
                     fmt::format("nested more than {} levels deep", kDeepestSetting),
                     "give the configuration of a training run");
  }
}

std::string listed(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ","));
}

}  // namespace highwater::detail
