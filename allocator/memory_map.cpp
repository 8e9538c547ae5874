// A picture of the whole state, and the start from such a picture. Source:
// DeviceCachingAllocator::snapshot of PyTorch 2.6.0 for what the picture shows; starting from one
// is not part of PyTorch: it gives the replay of a recording whose history is truncated its first
// state.
#include <algorithm>
#include <tuple>

#include "allocator/caching_allocator.hpp"

namespace highwater {
namespace {

MapBlock picture_of(BlockId id, const Block& block) {
  return {block.address, block.size, block.requested, block.state,
          block.is_free() ? BlockId::none() : id};
}

}  // namespace

Address CachingAllocator::segment_start(BlockId id) const {
  BlockId first = id;
  while (blocks_[first].prev.has_value() && blocks_[blocks_[first].prev].mapped) {
    first = blocks_[first].prev;
  }
  return blocks_[first].address;
}

MemoryMap CachingAllocator::memory_map() const {
  MemoryMap map;
  blocks_.for_each_chain([&](BlockId first) { append_ranges(first, map); });
  std::ranges::sort(map.segments, {}, &MapSegment::address);
  return map;
}

/// Adds the contiguous mapped ranges of one chain: the segment, or the pieces of a reservation.
void CachingAllocator::append_ranges(BlockId first, MemoryMap& map) const {
  bool in_range = false;
  for (BlockId id = first; id.has_value(); id = blocks_[id].next) {
    const Block& block = blocks_[id];
    if (block.mapped) {
      if (!in_range) {
        map.segments.push_back(empty_range(block));
      }
      map.segments.back().blocks.push_back(picture_of(id, block));
      map.segments.back().size += block.size;
    }
    in_range = block.mapped;
  }
  if (!blocks_[first].is_expandable()) {
    map.segments.back().reservation = map.segments.back().range();
  }
}

MapSegment CachingAllocator::empty_range(const Block& first) const {
  MapSegment range;
  range.address = first.address;
  range.stream = first.stream();
  range.kind = first.kind();
  range.owner = first.home->pool->owner;
  range.is_expandable = first.is_expandable();
  if (range.is_expandable) {
    range.reservation = expandable_[first.expandable.index()].reservation;
  }
  return range;
}

std::vector<BlockId> CachingAllocator::restore(const MemoryMap& map) {
  std::vector<BlockId> handles;
  for (std::size_t i = 0; i < map.segments.size();) {
    const MapSegment& segment = map.segments[i];
    if (!segment.is_expandable) {
      Block prototype;
      prototype.address = segment.address;
      prototype.home = &pool_of(segment.owner, segment.kind).of(segment.stream);
      prototype.rank = ranks_.of_segment(segment.range());
      restore_range(segment, prototype, BlockId::none(), handles);
      stats_.increase(Stat::segment, segment.kind, 1);
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < map.segments.size() && map.segments[end].reservation == segment.reservation) {
      ++end;
    }
    restore_reservation({map.segments.data() + i, end - i}, handles);
    i = end;
  }
  stats_.counters = Counters{};
  return handles;
}

Pool& CachingAllocator::pool_of(PoolId owner, PoolKind kind) {
  if (owner.is_default()) {
    return default_pools_.of(kind);
  }
  PrivatePool& pool = private_pools_[owner];
  if (!pool.pools) {
    pool.pools = std::make_unique<PoolPair>(owner);
  }
  return pool.pools->of(kind);
}

/// Adds the blocks of one segment or mapped range after `previous`; returns the last one. The
/// prototype stands where the segment or reservation begins.
BlockId CachingAllocator::restore_range(const MapSegment& segment, const Block& prototype,
                                        BlockId previous, std::vector<BlockId>& handles) {
  for (const MapBlock& source : segment.blocks) {
    Block block = prototype;
    block.address = source.address;
    block.size = source.size;
    block.rank = ranks_.of_piece(prototype.rank, source.address - prototype.address);
    block.prev = previous;
    previous = blocks_.add(block);
    blocks_.link(previous);
    const bool active = source.state != BlockState::inactive;
    handles.push_back(active ? previous : BlockId::none());
    if (active) {
      blocks_[previous].state = BlockState::active_allocated;
      blocks_[previous].requested = source.requested;
      account_handed_out(blocks_[previous]);
    } else {
      cache(previous);
    }
    if (!active && segment.blocks.size() > 1 && !segment.is_expandable) {
      stats_.increase(Stat::inactive_split, segment.kind, 1);
      stats_.increase(Stat::inactive_split_bytes, segment.kind, source.size);
    }
  }
  if (!segment.is_expandable && segment.size >= settings_.max_split_size) {
    stats_.oversize_segments.change(1);
  }
  account_new_memory(blocks_[previous], segment.size);
  if (!segment.owner.is_default()) {
    ++private_pools_.at(segment.owner).device_uses;
  }
  return previous;
}

/// The mapped `ranges` of one reservation, by address, with unmapped blocks between and after them.
void CachingAllocator::restore_reservation(std::span<const MapSegment> ranges,
                                           std::vector<BlockId>& handles) {
  const MapSegment& first = ranges.front();
  Block prototype;
  prototype.address = first.reservation.begin;
  prototype.home = &pool_of(first.owner, first.kind).of(first.stream);
  prototype.rank = ranks_.of_segment(first.reservation);
  prototype.expandable = ExpandableId{expandable_.size()};
  expandable_.push_back({first.reservation, expandable_page(first.kind, settings_)});
  BlockId previous;
  Address reached = first.reservation.begin;
  const auto fill_gap = [&](Address until) {
    if (reached < until) {
      Block gap = prototype;
      gap.address = reached;
      gap.size = until - reached;
      gap.rank = ranks_.of_piece(prototype.rank, reached - prototype.address);
      gap.prev = previous;
      previous = add_unmapped(gap);
    }
  };
  for (const MapSegment& range : ranges) {
    fill_gap(range.address);
    previous = restore_range(range, prototype, previous, handles);
    reached = range.range().end();
  }
  fill_gap(first.reservation.end());
}

OutOfMemory CachingAllocator::account_of_failure(const Request& request) const {
  OutOfMemory oom;
  oom.requested = request.asked;
  oom.rounded = request.size;
  oom.segment_size = segment_size(request.size, settings_);
  oom.stream = request.stream;
  oom.device_free = device_->free_memory();
  oom.device_total = device_->total_memory();
  oom.allowed = allowed_.value_or(kUnlimited);
  oom.reserved = stats_.current_bytes(Stat::reserved_bytes);
  oom.allocated = stats_.current_bytes(Stat::allocated_bytes);
  oom.active = stats_.current_bytes(Stat::active_bytes);
  std::map<const StreamCache*, PoolAccount> accounts;
  blocks_.for_each_chain([&](BlockId first) {
    for (BlockId id = first; id.has_value(); id = blocks_[id].next) {
      const Block& block = blocks_[id];
      if (!block.mapped) {
        continue;
      }
      PoolAccount& account = accounts[block.home];
      account.owner = block.home->pool->owner;
      account.kind = block.kind();
      account.stream = block.stream();
      account.reserved += block.size;
      switch (block.state) {
        case BlockState::active_allocated:
          account.allocated += block.size;
          break;
        case BlockState::active_pending_free:
          account.pending_free += block.size;
          break;
        case BlockState::inactive:
          account.free += block.size;
          account.largest_free_block = std::max(account.largest_free_block, block.size);
      }
    }
  });
  for (const auto& [cache, account] : accounts) {
    oom.pools.push_back(account);
    oom.largest_free_block = std::max(oom.largest_free_block, account.largest_free_block);
  }
  if (accounts.contains(request.cache)) {
    oom.largest_usable_free_block = accounts.at(request.cache).largest_free_block;
  }
  std::ranges::sort(oom.pools, {}, [](const PoolAccount& account) {
    return std::tuple{account.owner, account.kind, account.stream};
  });
  return oom;
}

}  // namespace highwater
