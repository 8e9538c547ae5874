// Expandable segments: address space that memory is mapped into and out of by whole pages: rule 10.
#include <algorithm>

#include "tests/support/oracle/naive_allocator.hpp"

namespace highwater::oracle {
namespace {

/// Whether the free and unmapped blocks from `block` on reach `size`.
bool reaches(const NaiveBlock* block, Bytes size) {
  Bytes found;
  for (; found < size && block != nullptr && block->is_free(); block = block->next) {
    found += block->size;
  }
  return found >= size;
}

}  // namespace

NaiveBlock* NaiveAllocator::grow(const Request& request) {
  NaiveBlock* block = find_address_space(request);
  if (!block->mapped) {
    block = map_block(block, std::min(block->size, request.size));
  }
  while (block != nullptr && block->size < request.size) {
    const Bytes missing = request.size - block->size;
    block = map_block(block->next, std::min(block->next->size, missing));
  }
  if (block != nullptr) {
    request.pool->blocks.erase(block);
  }
  return block;
}

NaiveBlock* NaiveAllocator::find_address_space(const Request& request) {
  auto& unmapped = request.pool->unmapped;
  NaiveBlock key;
  key.stream = request.stream;
  for (auto it = unmapped.lower_bound(&key);
       it != unmapped.end() && (*it)->stream == request.stream; ++it) {
    NaiveBlock* block = *it;
    if (block->prev != nullptr && block->prev->is_free()) {
      block = block->prev;
    }
    if (reaches(block, request.size)) {
      return block;
    }
  }
  return reserve(request);
}

NaiveBlock* NaiveAllocator::reserve(const Request& request) {
  const Bytes total = device_->total_memory();
  const Bytes page =
      request.pool->kind == PoolKind::small ? Bytes{2 << 20} : settings_.large_segment_size;
  const Bytes size = round_up(total + total / 8, page);
  const Address address = device_->reserve({size, request.pool->kind, request.stream});
  auto* const block = new NaiveBlock;
  block->address = address;
  block->size = size;
  block->stream = request.stream;
  block->pool = request.pool;
  block->mapped = false;
  block->segment_age = next_segment_age();
  block->reservation = new NaiveReservation{{address, size}, page};
  segments_.emplace(address, block);
  request.pool->unmapped.insert(block);
  if (request.pool->owner != nullptr) {
    ++request.pool->owner->segments;
  }
  return block;
}

/// Maps the first pages of the unmapped `block`; returns the free block they are part of, or null.
NaiveBlock* NaiveAllocator::map_block(NaiveBlock* block, Bytes size) {
  const Bytes mapped = round_up(size, block->reservation->page);
  const AddressRange range{block->address, mapped};
  if (!device_->map(range, block->reservation->page)) {
    return nullptr;
  }
  NaivePool& pool = *block->pool;
  pool.unmapped.erase(block);
  if (mapped < block->size) {
    pool.unmapped.insert(split(block, mapped));
  }
  block->mapped = true;
  block = merge_with_neighbours(block);
  insert_free(block);
  held_ += mapped;
  stats_.increase(Stat::reserved_bytes, pool.kind, mapped);
  ++stats_.counters.num_device_alloc;
  ++stats_.counters.segment_map;
  decide(RecordedAction::segment_map, range.begin, range.size, block->stream);
  return block;
}

/// Unmaps the whole pages of the free `block`; returns the unmapped block they are part of, or null
/// when there is no whole page.
NaiveBlock* NaiveAllocator::unmap_block(NaiveBlock* block) {
  const NaiveReservation& reservation = *block->reservation;
  const Address base = reservation.range.begin;
  const Bytes from = round_up(block->address - base, reservation.page);
  const Bytes to = round_down(block->end() - base, reservation.page);
  if (from >= to) {
    return nullptr;
  }
  const AddressRange range{base + from, to - from};
  device_->unmap(range);
  NaivePool& pool = *block->pool;
  pool.blocks.erase(block);
  if (range.end() < block->end()) {
    insert_free(split(block, range.end() - block->address));
  }
  if (block->address < range.begin) {
    NaiveBlock* const front = block;
    block = split(front, range.begin - front->address);
    insert_free(front);
  }
  block->mapped = false;
  block = merge_with_neighbours(block);
  pool.unmapped.insert(block);
  held_ -= range.size;
  stats_.decrease(Stat::reserved_bytes, pool.kind, range.size);
  ++stats_.counters.num_device_free;
  ++stats_.counters.segment_unmap;
  decide(RecordedAction::segment_unmap, range.begin, range.size, block->stream);
  return block;
}

/// Gives back the reservation that is one unmapped block.
void NaiveAllocator::release_reservation(NaiveBlock* block) {
  device_->unreserve(block->reservation->range);
  block->pool->unmapped.erase(block);
  if (block->pool->owner != nullptr) {
    --block->pool->owner->segments;
  }
  segments_.erase(block->address);
  delete block->reservation;
  delete block;
}

}  // namespace highwater::oracle
