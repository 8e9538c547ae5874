// What the readers of nested formats share: limits, and keys of nested values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "workloads/plan/sources/settings/setting.hpp"

namespace highwater::detail {

/// Files that people write are far below these; what a few bytes of aliases expand to is not.
inline constexpr std::size_t kMostSettings = 20'000;
inline constexpr std::size_t kDeepestSetting = 64;

/// "training" and "seq_len": "training.seq_len"
std::string nested_key(std::string_view outer, std::string_view inner);

/// Adds one setting. @throws InputError if there are too many
void add_setting(SettingList& settings, Setting setting, const std::string& file);

/// @throws InputError if `depth` is more than files have
void check_depth(std::size_t depth, const std::string& file, std::string_view key);

/// The items with commas between.
std::string listed(const std::vector<std::string>& items);

}  // namespace highwater::detail
