#include "workloads/plan/options/axes.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/edit_distance.hpp"
#include "traces/parse_text.hpp"

namespace highwater::axes {

std::string remedy(std::string_view word, std::span<const std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  if (const auto meant = nearest_word(word, names)) {
    return fmt::format("did you mean {}? (known: {})", *meant, fmt::join(known, ", "));
  }
  return fmt::format("use one of {}", fmt::join(known, ", "));
}

Reading<std::int64_t> read_whole(std::string_view text, const AllowedValues& range) {
  const auto& [least, most] = std::get<WholeRange>(range);
  const auto number = parse_number<std::int64_t>(text);
  if (!number) {
    return {std::nullopt, "not a whole number"};
  }
  if (*number < least || *number > most) {
    return {std::nullopt, fmt::format("use a number from {} to {}", least, most)};
  }
  return {number, std::nullopt};
}

Reading<double> read_real(std::string_view text, const AllowedValues& range) {
  const auto& [least, most, description] = std::get<RealRange>(range);
  const auto number = parse_number<double>(text);
  if (!number || !(*number >= least && *number <= most)) {
    return {std::nullopt, fmt::format("use a number {}", description)};
  }
  return {number, std::nullopt};
}

Reading<std::size_t> read_word(std::string_view text, const AllowedValues& list) {
  const auto known = std::get<AllowedWords>(list).list;
  const auto found = std::ranges::find(known, text);
  if (found == known.end()) {
    return {std::nullopt, "unknown; " + remedy(text, known)};
  }
  return {static_cast<std::size_t>(found - known.begin()), std::nullopt};
}

Reading<std::vector<std::size_t>> read_words(std::string_view text, const AllowedValues& list) {
  std::string dashed(text);
  std::ranges::replace(dashed, '_', '-');
  std::vector<std::size_t> positions;
  std::size_t begin = 0;
  while (begin <= dashed.size()) {
    const std::size_t end = std::min(dashed.find(',', begin), dashed.size());
    const Reading<std::size_t> word =
        read_word(std::string_view(dashed).substr(begin, end - begin), list);
    if (!word.value) {
      return {std::nullopt, word.complaint};
    }
    positions.push_back(*word.value);
    begin = end + 1;
  }
  return {positions, std::nullopt};
}

Reading<bool> read_flag(std::string_view text) {
  const Reading<std::size_t> position = read_word(text, AllowedWords{kWordList<kYesNo>});
  return {position.value ? std::optional(kYesNo.at(*position.value).value) : std::nullopt,
          position.complaint};
}

}  // namespace highwater::axes
