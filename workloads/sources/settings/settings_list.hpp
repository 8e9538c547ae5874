// What the readers of configurations share: limits, and how lists are written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::detail {

/// Files that people write are far below these; what a few bytes of aliases expand to is not.
inline constexpr std::size_t kMostSettings = 20'000;
inline constexpr std::size_t kDeepestSetting = 64;

/// Whether one more setting is allowed beside `count` others. @throws InputError
void check_count(std::size_t count, const std::string& file, std::string_view where);

/// @throws InputError if `depth` is more than files have
void check_depth(std::size_t depth, const std::string& file, std::string_view key);

/// The items with commas between.
std::string listed(const std::vector<std::string>& items);

}  // namespace highwater::detail
