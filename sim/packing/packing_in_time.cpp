#include "sim/packing/packing_in_time.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "allocator/free_list.hpp"

namespace highwater {
namespace {

/// An endless range of offsets from 0 of which parts are taken: a chain of pieces in the order of
/// their offsets, some of them gaps, which the allocator's free list orders by size and offset.
class OffsetSpace {
 public:
  /// A piece of `size` bytes in the smallest gap that fits, the lowest among equals; else at the
  /// top.
  BlockId take(std::uint64_t size) {
    const FreeEntry* const found = gaps_.lower_bound(Bytes{size});
    if (found == nullptr) {
      return add_at_top(size);
    }
    const FreeEntry gap = *found;
    gaps_.erase(gap);
    if (gap.size > size) {
      split(gap.block, size);
    }
    at(gap.block).is_gap = false;
    return gap.block;
  }

  void give_back(BlockId id) {
    if (const BlockId above = at(id).above; above.has_value() && at(above).is_gap) {
      gaps_.erase(entry(above));
      join(id, above);
    }
    if (const BlockId below = at(id).below; below.has_value() && at(below).is_gap) {
      gaps_.erase(entry(below));
      join(below, id);
      id = below;
    }
    if (id == top_) {
      top_ = at(id).below;
      unused_.push_back(id);
      unlink_above(top_);
    } else {
      at(id).is_gap = true;
      gaps_.insert(entry(id));
    }
  }

  [[nodiscard]] std::uint64_t offset(BlockId id) const { return pieces_[id.index()].offset; }

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    BlockId below;
    BlockId above;
    bool is_gap = false;
  };

  Piece& at(BlockId id) { return pieces_[id.index()]; }

  FreeEntry entry(BlockId id) { return {at(id).size, at(id).offset, id}; }

  BlockId add(const Piece& piece) {
    if (unused_.empty()) {
      pieces_.emplace_back();
      unused_.emplace_back(pieces_.size() - 1);
    }
    const BlockId id = unused_.back();
    unused_.pop_back();
    at(id) = piece;
    return id;
  }

  BlockId add_at_top(std::uint64_t size) {
    const std::uint64_t end = top_.has_value() ? at(top_).offset + at(top_).size : 0;
    const BlockId id = add({.offset = end, .size = size, .below = top_});
    if (top_.has_value()) {
      at(top_).above = id;
    }
    return top_ = id;
  }

  /// What is beyond `size` becomes a gap of its own; a gap is never at the top.
  void split(BlockId id, std::uint64_t size) {
    const Piece whole = at(id);
    const BlockId rest = add({.offset = whole.offset + size,
                              .size = whole.size - size,
                              .below = id,
                              .above = whole.above,
                              .is_gap = true});
    at(whole.above).below = rest;
    at(id).above = rest;
    at(id).size = size;
    gaps_.insert(entry(rest));
  }

  /// `above` becomes part of `id`, right below it.
  void join(BlockId id, BlockId above) {
    at(id).size += at(above).size;
    at(id).above = at(above).above;
    if (at(above).above.has_value()) {
      at(at(above).above).below = id;
    }
    top_ = top_ == above ? id : top_;
    unused_.push_back(above);
  }

  void unlink_above(BlockId id) {
    if (id.has_value()) {
      at(id).above = BlockId::none();
    }
  }

  std::vector<Piece> pieces_;
  std::vector<BlockId> unused_;
  FreeList gaps_;
  BlockId top_;  ///< the highest piece; everything above is free
};

/// The same blocks on a clock that runs the other way, in the order in which they come there.
std::vector<std::uint32_t> reversed_order(std::span<const PackingBlock> blocks,
                                          const std::vector<std::uint32_t>& by_end) {
  std::vector<std::uint32_t> order(by_end.rbegin(), by_end.rend());
  for (auto first = order.begin(); first != order.end();) {  // ties in order of index
    const auto last = std::find_if(
        first, order.end(), [&](std::uint32_t i) { return blocks[i].end != blocks[*first].end; });
    std::reverse(first, last);
    first = last;
  }
  return order;
}

/// Which blocks come and go, in order; what goes at a moment goes before anything comes.
struct Passage {
  std::vector<std::uint32_t> coming;
  std::vector<std::uint32_t> going;
};

Passage passage_of(std::span<const PackingBlock> blocks, const std::vector<std::uint32_t>& ends,
                   TimeOrder order) {
  Passage passage{std::vector<std::uint32_t>(blocks.size()), ends};
  std::iota(passage.coming.begin(), passage.coming.end(), 0U);
  if (order == TimeOrder::backward) {
    std::vector<std::uint32_t> coming = reversed_order(blocks, passage.going);
    std::ranges::reverse(passage.coming);
    passage = {std::move(coming), std::move(passage.coming)};
  }
  return passage;
}

}  // namespace

Packing pack_in_time(std::span<const PackingBlock> blocks, const OrderOfEnds& ends,
                     TimeOrder order) {
  const bool forward = order == TimeOrder::forward;
  const Passage passage = passage_of(blocks, ends, order);
  const auto has_gone = [&](std::uint32_t other, std::uint32_t i) {
    return forward ? blocks[other].end <= blocks[i].begin : blocks[other].begin >= blocks[i].end;
  };
  Packing packing;
  packing.method = forward ? "best fit in time" : "best fit backward in time";
  packing.offsets.resize(blocks.size());
  std::vector<BlockId> pieces(blocks.size());
  OffsetSpace space;
  auto gone = passage.going.begin();
  for (const std::uint32_t i : passage.coming) {
    for (; has_gone(*gone, i); ++gone) {
      space.give_back(pieces[*gone]);
    }
    pieces[i] = space.take(blocks[i].size.count());
    packing.offsets[i] = Bytes{space.offset(pieces[i])};
    packing.height = std::max(packing.height, packing.offsets[i] + blocks[i].size);
  }
  return packing;
}

}  // namespace highwater
