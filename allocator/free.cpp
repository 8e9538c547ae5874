// Free, merge, uses on other streams and the events that end them.
// Source: DeviceCachingAllocator::free, free_block, try_merge_blocks, recordStream, insert_events,
// process_events and insert_events_deferred_until_no_capture of PyTorch 2.6.0.
#include <algorithm>
#include <utility>

#include "allocator/caching_allocator.hpp"

namespace highwater {
namespace {

void insert_sorted(std::vector<StreamId>& set, StreamId stream) {
  const auto at = std::ranges::lower_bound(set, stream);
  if (at == set.end() || *at != stream) {
    set.insert(at, stream);
  }
}

}  // namespace

void CachingAllocator::free(BlockId id) {
  Block& block = blocks_[id];
  block.allocated = false;
  const PoolKind kind = pool_of(block).kind;
  stats_.decrease(Stat::allocation, kind, 1);
  stats_.decrease(Stat::allocated_bytes, kind, block.size);
  decide(RecordedAction::free_requested, block.address, block.requested, block.stream);
  if (block.size >= settings_.max_split_size) {
    stats_.oversize_allocations.change(-1);
  }
  if (!block.has_stream_uses) {
    free_now(id);
  } else if (sessions_.empty()) {
    record_events(id);
  } else {
    deferred_.push_back(id);
  }
}

void CachingAllocator::record_stream(BlockId id, StreamId stream) {
  Block& block = blocks_[id];
  if (stream == block.stream) {
    return;
  }
  block.has_stream_uses = true;
  StreamUses& uses = uses_[id];
  insert_sorted(uses.streams, stream);
  if (!sessions_.empty()) {
    insert_sorted(uses.in_session, stream);
  }
}

/// Back to the free list, joined with its free neighbours.
void CachingAllocator::free_now(BlockId id) {
  const Block before = blocks_[id];
  decide(RecordedAction::free_completed, before.address, before.requested, before.stream);
  std::int64_t split_blocks = 0;
  std::int64_t split_bytes = 0;
  for (const BlockId neighbour : {before.prev, before.next}) {
    const Bytes subsumed = try_merge(id, neighbour);
    if (subsumed.count() != 0) {
      --split_blocks;
      split_bytes -= static_cast<std::int64_t>(subsumed.count());
    }
  }
  cache(id);
  const Block& merged = blocks_[id];
  const PoolKind kind = pool_of(merged).kind;
  if (!merged.is_expandable()) {
    if (merged.is_split()) {
      ++split_blocks;
      split_bytes += static_cast<std::int64_t>(merged.size.count());
    }
    stats_.change(Stat::inactive_split, kind, split_blocks);
    stats_.change(Stat::inactive_split_bytes, kind, split_bytes);
  }
  stats_.decrease(Stat::active, kind, 1);
  stats_.decrease(Stat::active_bytes, kind, before.size);
  stats_.decrease(Stat::requested_bytes, kind, before.requested);
}

/// Joins `neighbour` into `into` if both are free and mapped alike; the bytes gained, or 0.
Bytes CachingAllocator::try_merge(BlockId into_id, BlockId neighbour_id) {
  if (!neighbour_id.has_value()) {
    return Bytes{0};
  }
  Block& into = blocks_[into_id];
  const Block& neighbour = blocks_[neighbour_id];
  if (!neighbour.is_free() || neighbour.mapped != into.mapped) {
    return Bytes{0};
  }
  const Bytes gained = neighbour.size;
  if (neighbour.mapped) {
    uncache(neighbour_id);
  } else {
    pool_of(neighbour).unmapped_of(neighbour.stream).erase(neighbour.address);
  }
  if (into.prev == neighbour_id) {
    into.address = neighbour.address;
    into.prev = neighbour.prev;
  } else {
    into.next = neighbour.next;
  }
  into.size += gained;
  blocks_.link(into_id);
  blocks_.remove(neighbour_id);
  return gained;
}

void CachingAllocator::cache(BlockId id) {
  Block& block = blocks_[id];
  Pool& pool = pool_of(block);
  block.gc_base = pool.search_count;
  block.requested = Bytes{0};
  pool.list(block.stream).insert({block.size.count(), block.address.value(), id});
}

void CachingAllocator::uncache(BlockId id) {
  const Block& block = blocks_[id];
  pool_of(block).list(block.stream).erase({block.size.count(), block.address.value(), id});
}

/// One event per stream that used the block; it stays active until all have completed.
void CachingAllocator::record_events(BlockId id) {
  Block& block = blocks_[id];
  for (const StreamId stream : uses_[id].streams) {
    events_.record(stream, id);
    ++block.event_count;
  }
  uses_.erase(id);
  block.has_stream_uses = false;
}

void CachingAllocator::process_events() {
  if (!deferred_.empty()) {
    insert_deferred_events();
  }
  events_.take_completed([this](BlockId id) { finish_event(id); });
}

/// Blocks freed during a session: uses from inside it are known to be over, the rest get events.
void CachingAllocator::insert_deferred_events() {
  const std::vector<BlockId> deferred = std::exchange(deferred_, {});
  for (const BlockId id : deferred) {
    StreamUses& uses = uses_[id];
    std::erase_if(uses.streams, [&](StreamId stream) {
      return std::ranges::binary_search(uses.in_session, stream);
    });
    record_events(id);
    if (blocks_[id].event_count == 0) {
      free_now(id);
    }
  }
}

void CachingAllocator::finish_event(BlockId id) {
  if (--blocks_[id].event_count == 0) {
    free_now(id);
  }
}

}  // namespace highwater
