// A bounded list of the items of greatest weight, with the number of all that were added. Of equal
// weights the first ones stay, so that items without weights are kept by their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace highwater {

template <class T>
struct KeptItems {
  std::vector<T> items;  ///< in the order in which they were added
  std::uint64_t added = 0;

  [[nodiscard]] std::uint64_t left_out() const { return added - items.size(); }
};

template <class T>
class LargestKept {
 public:
  explicit LargestKept(std::size_t limit = 0) : limit_(limit) {}

  void add(T item, double weight = 0) {
    entries_.push_back({weight, added_++, std::move(item)});
    if (entries_.size() > 2 * limit_) {
      drop_lightest();
    }
  }

  KeptItems<T> take() {
    drop_lightest();
    std::ranges::sort(entries_, {}, &Entry::number);
    KeptItems<T> kept;
    kept.added = added_;
    for (Entry& entry : entries_) {
      kept.items.push_back(std::move(entry.item));
    }
    entries_.clear();
    return kept;
  }

 private:
  struct Entry {
    double weight = 0;
    std::uint64_t number = 0;
    T item;
  };

  void drop_lightest() {
    if (entries_.size() <= limit_) {
      return;
    }
    const auto is_heavier = [](const Entry& a, const Entry& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.number < b.number;
    };
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(limit_);
    std::ranges::nth_element(entries_, end, is_heavier);
    entries_.erase(end, entries_.end());
  }

  std::size_t limit_;
  std::uint64_t added_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace highwater
