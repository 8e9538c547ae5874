// The option words of a plan that was read from a file, for tests of readers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "workloads/sources/plan_source.hpp"

namespace highwater::test {

/// The last word of `option`, which a default gives where no key does; "-": there is none.
inline std::string source_word(const PlanSource& source, std::string_view option) {
  std::string found = "-";
  for (const OptionWords* words : {&source.defaults, &source.words}) {
    for (const OptionWord& each : *words) {
      found = each.first == option ? each.second : found;
    }
  }
  return found;
}

/// "2 512 -": the word of each option.
inline std::string source_words(const PlanSource& source,
                                std::initializer_list<std::string_view> options) {
  std::string text;
  for (const std::string_view option : options) {
    text += (text.empty() ? "" : " ") + source_word(source, option);
  }
  return text;
}

}  // namespace highwater::test
