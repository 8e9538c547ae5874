// Delta debugging: what is left, and that candidates offered together change nothing.
#include "sim/reduction/needless_items.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

/// The first candidate that holds every item of `needed`.
auto holding(std::vector<int> needed) {
  return [needed = std::move(needed)](const std::vector<std::vector<int>>& candidates) {
    const auto found = std::ranges::find_if(candidates, [&](const std::vector<int>& items) {
      return std::ranges::includes(items, needed);
    });
    return found == candidates.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - candidates.begin()));
  };
}

}  // namespace

TEST_CASE("reduce: the items of a list that are needed", "[sim][reduce]") {
  const std::vector<int> items{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const std::size_t offered : {1U, 2U, 3U, 16U}) {
    CAPTURE(offered);
    CHECK(without_needless(items, offered, holding({})).empty());
    CHECK(without_needless(items, offered, holding({3, 7})) == std::vector{3, 7});
    CHECK(without_needless(items, offered, holding({0, 9})) == std::vector{0, 9});
    CHECK(without_needless(items, offered, holding(items)) == items);
  }
}

TEST_CASE("reduce: candidates offered together give what one after the other gives",
          "[sim][reduce]") {
  // An odd number of items: which ones are left depends on the order of the trials.
  const auto first_odd = [](const std::vector<std::vector<int>>& candidates) {
    const auto found = std::ranges::find_if(
        candidates, [](const std::vector<int>& items) { return items.size() % 2 == 1; });
    return found == candidates.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - candidates.begin()));
  };
  std::vector<int> items(37);
  std::ranges::generate(items, [n = 0]() mutable { return n++; });
  const std::vector<int> alone = without_needless(items, 1, first_odd);
  CHECK(alone.size() % 2 == 1);
  CHECK(without_needless(items, 4, first_odd) == alone);
  CHECK(without_needless(items, 100, first_odd) == alone);
}
