// Blocks: the pieces that segments are cut into, in one index-based store.
//
// A segment (or a reservation of an expandable segment) is a chain of blocks in address order that
// covers it without gaps. Blocks refer to one another by index, so the store may grow, and an
// allocated block keeps its index until it is freed: the index is the caller's handle. Source:
// struct Block of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/pool.hpp"
#include "traces/address.hpp"
#include "traces/ids.hpp"
#include "traces/recording.hpp"
#include "traces/units.hpp"

namespace highwater {

using ExpandableId = Id<struct ExpandableSegmentTag>;  ///< an expandable segment

/// One cache line, and at the start of one.
struct alignas(64) Block {
  Address address;
  Bytes size;
  Bytes requested;              ///< bytes the program asked for; meaningful while active
  StreamCache* home = nullptr;  ///< the part of a pool that it belongs to
  BlockId prev;                 ///< neighbour at the lower address, if any
  BlockId next;                 ///< neighbour at the higher address, if any
  std::uint64_t rank = 0;       ///< orders free blocks of one size (block_ranks.hpp)
  std::uint64_t gc_base = 0;    ///< the pool's search count when the block was cached
  ExpandableId expandable;      ///< the expandable segment it belongs to, if any
  BlockState state = BlockState::inactive;
  bool mapped = true;            ///< false: address space without memory
  bool has_stream_uses = false;  ///< used on other streams (their list is a side table)

  bool operator==(const Block&) const = default;

  [[nodiscard]] Address end() const { return address + size; }

  /// Without a branch: whether a block has a neighbour is hard to predict.
  [[nodiscard]] bool is_split() const {
    return (static_cast<int>(prev.has_value()) | static_cast<int>(next.has_value())) != 0;
  }

  [[nodiscard]] bool is_expandable() const { return expandable.has_value(); }

  [[nodiscard]] PoolKind kind() const { return home->kind; }

  /// The stream of the segment.
  [[nodiscard]] StreamId stream() const { return home->stream; }

  /// Neither allocated nor waiting for other streams; true of address space as well.
  [[nodiscard]] bool is_free() const { return state == BlockState::inactive; }

  /// Free, and memory or address space alike.
  [[nodiscard]] bool is_free_as(bool is_mapped) const {
    return (static_cast<int>(is_free()) & static_cast<int>(mapped == is_mapped)) != 0;
  }
};

static_assert(sizeof(Block) == 64);

class BlockStore {
 public:
  BlockStore() : blocks_(1) { (*this)[kWall].state = BlockState::active_allocated; }

  [[nodiscard]] Block& operator[](BlockId id) { return blocks_[id.index()]; }

  [[nodiscard]] const Block& operator[](BlockId id) const { return blocks_[id.index()]; }

  BlockId add(const Block& block) {
    const BlockId id = take_slot();
    (*this)[id] = block;
    return id;
  }

  /// As add(blocks[original]), with one copy less.
  BlockId add_copy(BlockId original) {
    const BlockId id = take_slot();
    (*this)[id] = (*this)[original];
    return id;
  }

  void remove(BlockId id) {
    blocks_[id.index()].size = Bytes{0};
    unused_.push_back(id);
  }

  /// Calls `visit` with the first block of every chain.
  template <class Visit>
  void for_each_chain(Visit visit) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].size.count() != 0 && !blocks_[i].prev.has_value()) {
        visit(BlockId{i});
      }
    }
  }

  /// Links `id` between its already set neighbours.
  void link(BlockId id) {
    const Block& block = (*this)[id];
    neighbour(block.prev).next = id;
    neighbour(block.next).prev = id;
  }

  /// The block `id`, or where there is none a wall that nothing is joined with; what is written to
  /// it does not matter. Spares a branch that is hard to predict.
  [[nodiscard]] Block& neighbour(BlockId id) { return (*this)[id.has_value() ? id : kWall]; }

 private:
  static constexpr BlockId kWall{std::uint32_t{0}};

  BlockId take_slot() {
    if (unused_.empty()) {
      blocks_.emplace_back();
      return BlockId{blocks_.size() - 1};
    }
    const BlockId id = unused_.back();
    unused_.pop_back();
    return id;
  }

  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
};

}  // namespace highwater
