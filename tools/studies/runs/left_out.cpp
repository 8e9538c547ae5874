#include "tools/studies/runs/left_out.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

MemorySign turning_sign(FitOutcome outcome) {
  return outcome == FitOutcome::fits ? MemorySign::more : MemorySign::less;
}

/// "adds memory", "may save memory"
std::string effect(FitOutcome outcome, const std::vector<LeftOutKey>& keys) {
  const MemorySign sign = turning_sign(outcome);
  const bool is_certain =
      std::ranges::all_of(keys, [&](const LeftOutKey& each) { return each.sign == sign; });
  const std::string_view verb = outcome == FitOutcome::fits ? "add" : "save";
  const std::string_view ending = keys.size() == 1 ? "s" : "";
  return is_certain ? fmt::format("{}{} memory", verb, ending) : fmt::format("may {} memory", verb);
}

}  // namespace

std::vector<LeftOutKey> turning_keys(FitOutcome outcome, const std::vector<LeftOutKey>& left_out) {
  std::vector<LeftOutKey> keys;
  std::ranges::copy_if(left_out, std::back_inserter(keys), [&](const LeftOutKey& each) {
    return each.sign == MemorySign::either || each.sign == turning_sign(outcome);
  });
  return keys;
}

std::string key_names(const std::vector<LeftOutKey>& keys) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNamed, keys.size()); ++i) {
    names.push_back(keys[i].key);
  }
  std::string last = keys.size() > kNamed ? fmt::format("{} more", keys.size() - kNamed) : "";
  if (last.empty()) {
    last = names.back();
    names.pop_back();
  }
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string without_words(FitOutcome outcome, const std::vector<LeftOutKey>& keys) {
  return fmt::format("without {}, which {}", key_names(keys), effect(outcome, keys));
}

}  // namespace highwater
