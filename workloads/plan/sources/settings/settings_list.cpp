#include "workloads/plan/sources/settings/settings_list.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"

namespace highwater::detail {

std::string nested_key(std::string_view outer, std::string_view inner) {
  return outer.empty() ? std::string(inner) : fmt::format("{}.{}", outer, inner);
}

void add_setting(SettingList& settings, Setting setting, const std::string& file) {
  if (settings.list().size() >= kMostSettings) {
    throw InputError(file, setting.key, fmt::format("more than {} settings", kMostSettings),
                     "give the configuration of a training run");
  }
  settings.add(std::move(setting));
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
