// Delta debugging: the items of a list that nothing is lost without.
//
// Runs of items are left out, all at first, then runs of half the length, down to single items,
// each wherever the rest still holds (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input", IEEE TSE 28, 2002; complements alone, since what holds of a program's
// part rarely holds of a small subset). Candidates that do not depend on each other's outcome are
// offered together, so that they can be tried at the same time; the outcome is that of one after
// the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace highwater {

namespace detail {

/// `items` without those at [begin, begin + length).
template <class Item>
std::vector<Item> without_run(const std::vector<Item>& items, std::size_t begin,
                              std::size_t length) {
  const std::size_t end = std::min(begin + length, items.size());
  std::vector<Item> rest(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), items.begin() + static_cast<std::ptrdiff_t>(end), items.end());
  return rest;
}

}  // namespace detail

/// What is left of `items`. `first_that_holds` gets lists of items that are kept, at most `offered`
/// of them, and returns the index of the first that holds, if one does.
template <class Item, class FirstThatHolds>
std::vector<Item> without_needless(std::vector<Item> items, std::size_t offered,
                                   FirstThatHolds first_that_holds) {
  for (std::size_t length = items.size(); length > 0; length = length > 1 ? (length + 1) / 2 : 0) {
    std::size_t begin = 0;
    while (begin < items.size()) {
      std::vector<std::vector<Item>> candidates;
      for (std::size_t at = begin; at < items.size() && candidates.size() < offered; at += length) {
        candidates.push_back(detail::without_run(items, at, length));
      }
      const std::optional<std::size_t> found = first_that_holds(candidates);
      begin += length * found.value_or(candidates.size());
      if (found) {
        items = std::move(candidates[*found]);
      }
    }
  }
  return items;
}

}  // namespace highwater
