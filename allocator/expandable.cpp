// Expandable segments: address space is reserved once per pool and stream, memory is mapped into it
// page by page, so a segment grows at its end instead of a new one being allocated.
//
//   reservation  | block | free | block |  free  |        unmapped ...        |
//                '------------ mapped -----------'  <- the next page goes here
//
// A chain of blocks covers the whole reservation; unmapped stretches are blocks as well. Source:
// struct ExpandableSegment, find_expandable_block, map_block, try_allocate_expandable_block,
// unmap_block and release_expandable_segment of PyTorch 2.6.0.
#include <algorithm>

#include "allocator/caching_allocator.hpp"

namespace highwater {

AddressRange CachingAllocator::expandable_page_at(BlockId id, Address address) const {
  const ExpandableSegment& segment = expandable_[blocks_[id].expandable.index()];
  const Address base = segment.reservation.begin;
  return {base + round_down(address - base, segment.page), segment.page};
}

/// A free mapped block of at least the request's size, not in the free list; none when the device
/// has too little memory. A first successful mapping stays even if a second one fails.
BlockId CachingAllocator::grow_expandable(const Request& request) {
  BlockId candidate = find_address_space(request);
  if (!candidate.has_value()) {
    return BlockId::none();
  }
  if (!blocks_[candidate].mapped &&
      !map_block(candidate, std::min(blocks_[candidate].size, request.size))) {
    return BlockId::none();
  }
  while (blocks_[candidate].size < request.size) {
    const BlockId next = blocks_[candidate].next;  // unmapped: found by find_address_space
    if (!next.has_value()) {
      return BlockId::none();  // more than a whole reservation holds
    }
    const Bytes missing = request.size - blocks_[candidate].size;
    if (!map_block(next, std::min(missing, blocks_[next].size))) {
      return BlockId::none();
    }
    candidate = next;  // it has merged with the mapped block before it
  }
  uncache(candidate);
  return candidate;
}

/// Where to grow: the lowest unmapped stretch of the stream that, together with the free block
/// before it, has room for the request; otherwise a new reservation.
BlockId CachingAllocator::find_address_space(const Request& request) {
  for (const auto& [address, id] : request.cache->unmapped) {
    const BlockId before = blocks_[id].prev;
    const BlockId start = before.has_value() && blocks_[before].is_free() ? before : id;
    if (has_address_space(start, request.size)) {
      return start;
    }
  }
  return reserve_segment(request);
}

bool CachingAllocator::has_address_space(BlockId from, Bytes size) const {
  Bytes room;
  for (BlockId id = from; room < size && id.has_value() && blocks_[id].is_free();
       id = blocks_[id].next) {
    room += blocks_[id].size;
  }
  return room >= size;
}

/// A reservation of 9/8 of the device's memory, in whole pages, as one unmapped block.
BlockId CachingAllocator::reserve_segment(const Request& request) {
  const PoolKind kind = request.cache->kind;
  const Bytes total = device_->total_memory();
  const Bytes page = expandable_page(kind, settings_);
  const Bytes size = round_up(total + total / 8, page);
  if (size.count() == 0) {
    return BlockId::none();  // a device without memory
  }
  Block block;
  block.address = device_->reserve({size, kind, request.stream, request.cache->pool->owner});
  block.size = size;
  block.home = request.cache;
  block.expandable = ExpandableId{expandable_.size()};
  expandable_.push_back({{block.address, size}, page});
  block.rank = ranks_.of_segment({block.address, size});
  return add_unmapped(block);
}

BlockId CachingAllocator::add_unmapped(const Block& block) {
  const BlockId id = blocks_.add(block);
  blocks_[id].mapped = false;
  blocks_.link(id);
  block.home->unmapped.emplace(block.address, id);
  return id;
}

/// Maps whole pages for the first `size` bytes of the unmapped block `id`, which joins its free
/// neighbours and enters the free list.
bool CachingAllocator::map_block(BlockId id, Bytes size) {
  const Bytes page = expandable_[blocks_[id].expandable.index()].page;
  const AddressRange range{blocks_[id].address, round_up(size, page)};
  if (!device_->map(range, page)) {
    return false;
  }
  const Block unmapped = blocks_[id];
  unmapped.home->unmapped.erase(unmapped.address);
  blocks_[id].mapped = true;
  if (range.size < unmapped.size) {
    blocks_[id].size = range.size;
    Block rest = unmapped;
    rest.address = range.end();
    rest.rank = ranks_.of_piece(unmapped.rank, range.size);
    rest.size = unmapped.size - range.size;
    rest.prev = id;
    add_unmapped(rest);
  }
  join_neighbours(id);
  cache(id);
  account_new_memory(unmapped, range.size);
  ++stats_.counters.segment_map;
  decide(RecordedAction::segment_map, range.begin, range.size, unmapped.stream());
  return true;
}

/// Unmaps the whole pages inside the free block `id`, which becomes the unmapped stretch; the parts
/// before and after it stay cached.
void CachingAllocator::unmap_block(BlockId id) {
  const Block block = blocks_[id];
  const ExpandableSegment& segment = expandable_[block.expandable.index()];
  const Address base = segment.reservation.begin;
  const Address begin = base + round_up(block.address - base, segment.page);
  const Address end = base + round_down(block.end() - base, segment.page);
  if (begin >= end) {
    return;
  }
  const AddressRange range{begin, end - begin};
  events_.complete(block.stream());  // the driver waits for the stream before it unmaps
  device_->unmap(range);
  uncache(id);
  blocks_[id].address = range.begin;
  blocks_[id].rank = ranks_.of_shrunk(block.rank, range.begin - block.address);
  blocks_[id].size = range.size;
  blocks_[id].mapped = false;
  add_rim(block, {block.address, begin - block.address}, block.prev, id);
  add_rim(block, {end, block.end() - end}, id, block.next);
  join_neighbours(id);
  const Block& unmapped = blocks_[id];
  unmapped.home->unmapped.emplace(unmapped.address, id);
  account_released_memory(block, range.size);
  ++stats_.counters.segment_unmap;
  decide(RecordedAction::segment_unmap, range.begin, range.size, block.stream());
}

/// Caches what is left of `block` at one of its ends, if anything is.
void CachingAllocator::add_rim(const Block& block, AddressRange range, BlockId prev, BlockId next) {
  if (range.size == Bytes{}) {
    return;
  }
  Block rim = block;
  rim.address = range.begin;
  rim.size = range.size;
  rim.rank = ranks_.of_piece(block.rank, range.begin - block.address);
  rim.prev = prev;
  rim.next = next;
  const BlockId id = blocks_.add(rim);
  blocks_.link(id);
  cache(id);
}

/// Releases a reservation that consists of one unmapped block.
void CachingAllocator::release_reservation(BlockId id) {
  const Block block = blocks_[id];
  block.home->unmapped.erase(block.address);
  device_->unreserve({block.address, block.size});
  blocks_.remove(id);
}

}  // namespace highwater
