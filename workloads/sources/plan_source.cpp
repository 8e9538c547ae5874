#include "workloads/sources/plan_source.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace highwater {

std::string_view to_string(KeyFate fate) {
  constexpr std::array<std::string_view, 3> kFates{"used", "no effect", "not supported"};
  return kFates[static_cast<std::size_t>(fate)];
}

std::string_view to_string(MemorySign sign) {
  constexpr std::array<std::string_view, 4> kSigns{"adds memory", "saves memory",
                                                   "may change memory", "changes memory little"};
  return kSigns[static_cast<std::size_t>(sign)];
}

void SourceKeys::use(std::string_view key, std::string value, std::string_view option,
                     std::string word) {
  source_.keys.push_back(
      {std::string(key), std::move(value), KeyFate::used, fmt::format("--{} {}", option, word)});
  OptionWords& words = are_defaults_ ? source_.defaults : source_.words;
  words.emplace_back(option, std::move(word));
}

void SourceKeys::use_if_simulated(std::string_view key, std::string value, std::string_view option,
                                  std::string word, MemorySign sign) {
  use(key, std::move(value), option, std::move(word));
  source_.keys.back().lacks = option;
  source_.keys.back().sign = sign;
}

void SourceKeys::add_no_effect(std::string_view key, std::string value, std::string why) {
  source_.keys.push_back({std::string(key), std::move(value), KeyFate::no_effect, std::move(why)});
}

void SourceKeys::add_not_supported(std::string_view key, std::string value, std::string why,
                                   std::string_view lacks, MemorySign sign) {
  source_.keys.push_back({std::string(key), std::move(value), KeyFate::not_supported,
                          std::move(why), std::string(lacks), sign});
}

void SourceKeys::add_not_supported(std::string_view key, std::string value, std::string why,
                                   MemorySign sign) {
  add_not_supported(key, std::move(value), std::move(why), "", sign);
}

}  // namespace highwater
