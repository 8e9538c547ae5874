#include "traces/edit_distance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace highwater {
namespace {

/// A variable of a script may hold a mebibyte, and the time grows with the product of the lengths.
constexpr std::size_t kLongestWord = 256;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (const std::size_t longer = std::max(a.size(), b.size()); longer > kLongestWord) {
    return longer;
  }
  using Row = std::vector<std::size_t>;
  Row row(b.size() + 1);
  Row above;
  Row before;  // above `above`
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      row[j] = is_swapped ? std::min(row[j], before[j - 2] + 1) : row[j];
    }
  }
  return row.back();
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  std::size_t best = std::max<std::size_t>(2, word.size() / 3 + 1);
  for (const std::string& candidate : known) {
    const std::size_t insertions =
        std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (insertions >= best) {
      continue;
    }
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace highwater
