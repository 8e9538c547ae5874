// What free lists order blocks of one size by, if not by address.
//
// Segments by age, as ranks of addresses (2.13): each new segment is placed after all earlier ones
// on an axis where no place is ever reused; the rank of an address is its place there. So an older
// segment ranks before a younger one, and within a segment blocks are ordered by address. Blocks by
// age (2.12): each is numbered when it is created. Source: 2.12 gives each block a counter, 2.13
// each segment, and compares blocks by size, counter and address: pull requests 178362 and 183591
// of PyTorch.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "allocator/free_list.hpp"
#include "traces/address.hpp"

namespace highwater {

class SegmentRanks {
 public:
  void add(AddressRange segment) {
    starts_[segment.begin] = next_;
    next_ += segment.size.count();
  }

  void remove(Address begin) { starts_.erase(begin); }

  /// The rank of `address`, which lies in a segment that was added.
  [[nodiscard]] std::uint64_t of(Address address) const {
    const auto segment = std::prev(starts_.upper_bound(address));
    return segment->second + (address - segment->first).count();
  }

 private:
  std::map<Address, std::uint64_t> starts_;
  std::uint64_t next_ = 0;
};

class BlockAges {
 public:
  void add(BlockId id) {
    if (numbers_.size() <= id.index()) {
      numbers_.resize(id.index() + 1);
    }
    numbers_[id.index()] = next_++;
  }

  /// `front` was split off; `rest` is what remains of the block.
  void split(BlockId front, BlockId rest) {
    const std::uint64_t number = of(front);
    add(rest);
    numbers_[front.index()] = numbers_[rest.index()];
    numbers_[rest.index()] = number;
  }

  [[nodiscard]] std::uint64_t of(BlockId id) const { return numbers_[id.index()]; }

 private:
  std::vector<std::uint64_t> numbers_;
  std::uint64_t next_ = 0;
};

}  // namespace highwater
