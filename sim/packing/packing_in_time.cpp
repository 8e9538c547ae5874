#include "sim/packing/packing_in_time.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace highwater {
namespace {

/// An endless range of offsets from 0 of which parts are taken.
class OffsetSpace {
 public:
  /// The smallest gap that fits, the lowest among equals; else the top.
  std::uint64_t take(std::uint64_t size) {
    const auto gap = by_size_.lower_bound({size, 0});
    if (gap == by_size_.end()) {
      const std::uint64_t offset = top_;
      top_ += size;
      return offset;
    }
    const auto [gap_size, offset] = *gap;
    remove(by_offset_.find(offset));
    if (gap_size > size) {
      add(offset + size, gap_size - size);
    }
    return offset;
  }

  void give_back(std::uint64_t offset, std::uint64_t size) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      remove(next);
    }
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto previous = std::prev(after);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        size += previous->second;
        remove(previous);
      }
    }
    if (offset + size == top_) {
      top_ = offset;
    } else {
      add(offset, size);
    }
  }

 private:
  using Gaps = std::map<std::uint64_t, std::uint64_t>;

  void add(std::uint64_t offset, std::uint64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }

  void remove(Gaps::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    by_offset_.erase(gap);
  }

  Gaps by_offset_;  ///< sizes of the gaps below the top; no two touch
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
  std::uint64_t top_ = 0;  ///< everything from here on is free
};

/// Indices of the blocks by `key`, ties in order of index.
template <class Key>
std::vector<std::uint32_t> sorted_by(std::size_t count, Key key) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, key);
  return order;
}

}  // namespace

Packing pack_in_time(std::span<const PackingBlock> blocks, TimeOrder order) {
  // Backward, a block comes at its end and goes at its begin, on a clock that runs the other way.
  const bool forward = order == TimeOrder::forward;
  const auto come = [&](std::uint32_t i) { return forward ? blocks[i].begin : ~blocks[i].end; };
  const auto go = [&](std::uint32_t i) { return forward ? blocks[i].end : ~blocks[i].begin; };
  const std::vector<std::uint32_t> coming = sorted_by(blocks.size(), come);
  const std::vector<std::uint32_t> going = sorted_by(blocks.size(), go);
  Packing packing;
  packing.method = forward ? "best fit in time" : "best fit backward in time";
  packing.offsets.resize(blocks.size());
  OffsetSpace space;
  auto gone = going.begin();
  for (const std::uint32_t i : coming) {
    for (; go(*gone) <= come(i); ++gone) {
      space.give_back(packing.offsets[*gone].count(), blocks[*gone].size.count());
    }
    packing.offsets[i] = Bytes{space.take(blocks[i].size.count())};
    packing.height = std::max(packing.height, packing.offsets[i] + blocks[i].size);
  }
  return packing;
}

}  // namespace highwater
