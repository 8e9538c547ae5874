// The rule of a key, found in time that does not grow with the table.
#pragma once

#include <span>
#include <string_view>

#include "workloads/plan/sources/rules/key_rule.hpp"

namespace highwater {

/// The first of `rules` that matches `key`; nullptr if none does. @pre the table lives as long as
/// the program
const KeyRule* find_rule(std::span<const KeyRule> rules, std::string_view key);

}  // namespace highwater
