#include "tools/edits/capture_words.hpp"

#include "traces/parse_text.hpp"

namespace highwater {

std::optional<std::vector<std::vector<std::size_t>>> parse_capture_lists(std::string_view text) {
  std::vector<std::vector<std::size_t>> lists;
  for (const std::string& list : split(text, '/')) {
    lists.emplace_back();
    for (const std::string& word : split(list, '+')) {
      const auto number = parse_number<std::size_t>(word);
      if (!number || *number == 0) {
        return std::nullopt;
      }
      lists.back().push_back(*number - 1);
    }
  }
  return lists;
}

}  // namespace highwater
