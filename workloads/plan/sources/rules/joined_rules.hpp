// Tables of rules of several files as one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "workloads/plan/sources/rules/key_rule.hpp"

namespace highwater::program_table {

template <std::size_t... Sizes>
constexpr auto joined_rules(const std::array<KeyRule, Sizes>&... parts) {
  std::array<KeyRule, (Sizes + ...)> all{};
  auto next = all.begin();
  ((next = std::ranges::copy(parts, next).out), ...);
  return all;
}

}  // namespace highwater::program_table
