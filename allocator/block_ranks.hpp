// What free lists order blocks of one size by.
//
// By address (until 2.11), or by the age of segments (2.13): each new segment is placed after all
// earlier ones on an axis where no place is ever reused, and the rank of a block is its place
// there, so an older segment ranks before a younger one and within a segment blocks are ordered by
// address. In both orders the rank of a block is the rank of its segment plus its offset in it. By
// the age of blocks (2.12): each is numbered when it is created. Source: 2.12 gives each block a
// counter, 2.13 each segment, and compares blocks by size, counter and address: pull requests
// 178362 and 183591 of PyTorch.
#pragma once

#include <cstdint>
#include <utility>

#include "allocator/settings/version.hpp"
#include "traces/address.hpp"
#include "traces/units.hpp"

namespace highwater {

/// Hands out ranks; blocks keep theirs.
class BlockRanks {
 public:
  explicit BlockRanks(TieOrder order) : order_(order) {}

  /// The rank of the first block of a new segment or reservation.
  std::uint64_t of_segment(AddressRange segment) {
    return order_ == TieOrder::by_address ? segment.begin.value()
                                          : std::exchange(next_, next_ + segment.size.count());
  }

  /// The rank of a new block that begins `offset` behind a block of the same segment that ranks at
  /// `rank`.
  std::uint64_t of_piece(std::uint64_t rank, Bytes offset) {
    return by_age_of_blocks() ? next_++ : rank + offset.count();
  }

  /// A block is split after its first `size` bytes: its front part counts as the new one.
  void split(std::uint64_t& front, std::uint64_t& rest, Bytes size) {
    rest = of_piece(front, size);
    if (by_age_of_blocks()) {
      std::swap(front, rest);
    }
  }

  /// The rank of a block at `rank` that has lost its first `offset` bytes.
  [[nodiscard]] std::uint64_t of_shrunk(std::uint64_t rank, Bytes offset) const {
    return by_age_of_blocks() ? rank : rank + offset.count();
  }

  /// The rank of a block at `rank` that has grown over the neighbour in front of it.
  [[nodiscard]] std::uint64_t of_joined(std::uint64_t rank, std::uint64_t neighbour) const {
    return by_age_of_blocks() ? rank : neighbour;
  }

 private:
  [[nodiscard]] bool by_age_of_blocks() const { return order_ == TieOrder::by_block_age; }

  TieOrder order_;
  std::uint64_t next_ = 0;
};

}  // namespace highwater
