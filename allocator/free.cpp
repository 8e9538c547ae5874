// Free, merge, uses on other streams and the events that end them.
// Source: DeviceCachingAllocator::free, free_block, try_merge_blocks, recordStream, insert_events,
// process_events and insert_events_deferred_until_no_capture of PyTorch 2.6.0.
#include <algorithm>
#include <utility>

#include "allocator/caching_allocator.hpp"

namespace highwater {
namespace {

void insert_sorted(StreamUses::Streams& set, StreamId stream) {
  const auto at = std::ranges::lower_bound(set, stream);
  if (at == set.end() || *at != stream) {
    set.insert(at, stream);
  }
}

}  // namespace

[[gnu::flatten]] void CachingAllocator::free(BlockId id) {
  Block& block = blocks_[id];
  decide(RecordedAction::free_requested, block.address, block.requested, block.stream());
  if (block.size >= settings_.max_split_size) {
    stats_.oversize_allocations.change(-1);
  }
  if (!block.has_stream_uses) {
    stats_.free_at_once(block.kind(), block.size, block.requested);
    return_to_cache(id);
    return;
  }
  block.state = BlockState::active_pending_free;
  stats_.request_free(block.kind(), block.size);
  if (!is_held_back()) {
    record_events(id);
  } else {
    deferred_.push_back(id);
  }
}

void CachingAllocator::record_stream(BlockId id, StreamId stream) {
  Block& block = blocks_[id];
  if (stream == block.stream()) {
    return;
  }
  block.has_stream_uses = true;
  StreamUses& uses = uses_[id];
  insert_sorted(uses.streams, stream);
  if (is_held_back()) {
    insert_sorted(uses.in_session, stream);
  }
}

/// The other streams have finished with a block that the program freed earlier.
void CachingAllocator::complete_free(BlockId id) {
  const Block& block = blocks_[id];
  stats_.complete_free(block.kind(), block.size, block.requested);
  uses_.erase(id);
  return_to_cache(id);
}

/// Back to the free list, joined with its free neighbours.
void CachingAllocator::return_to_cache(BlockId id) {
  Block& block = blocks_[id];
  const PoolKind kind = block.kind();
  decide(RecordedAction::free_completed, block.address, block.requested, block.stream());
  block.state = BlockState::inactive;
  const Bytes freed = block.size;
  const std::int64_t joined = join_neighbours(id);
  cache(id);
  if (!block.is_expandable()) {
    const bool is_split = block.is_split();
    const Bytes now_split = is_split ? block.size : Bytes{0};
    const Bytes was_split = block.size - freed;
    stats_.change(Stat::inactive_split, kind, (is_split ? 1 : 0) - joined);
    stats_.change(Stat::inactive_split_bytes, kind,
                  static_cast<std::int64_t>(now_split.count() - was_split.count()));
  }
}

/// Merges the free neighbours with the same mapping state into `id`; returns their number.
std::int64_t CachingAllocator::join_neighbours(BlockId id) {
  const Block& block = blocks_[id];
  const BlockId prev = block.prev;
  const BlockId next = block.next;
  const bool with_prev = blocks_.neighbour(prev).is_free_as(block.mapped);
  const bool with_next = blocks_.neighbour(next).is_free_as(block.mapped);
  if (with_prev) {
    join(id, prev);
  }
  if (with_next) {
    join(id, next);
  }
  return std::int64_t{with_prev} + std::int64_t{with_next};
}

void CachingAllocator::join(BlockId into_id, BlockId neighbour_id) {
  Block& into = blocks_[into_id];
  const Block& neighbour = blocks_[neighbour_id];
  if (neighbour.mapped) {
    uncache(neighbour_id);
  } else {
    neighbour.home->unmapped.erase(neighbour.address);
  }
  if (into.prev == neighbour_id) {
    into.address = neighbour.address;
    into.rank = ranks_.of_joined(into.rank, neighbour.rank);
    into.prev = neighbour.prev;
  } else {
    into.next = neighbour.next;
  }
  into.size += neighbour.size;
  blocks_.link(into_id);
  blocks_.remove(neighbour_id);
}

/// One event per stream that used the block; it stays active until all have completed.
void CachingAllocator::record_events(BlockId id) {
  StreamUses& uses = uses_[id];
  for (const StreamId stream : uses.streams) {
    events_.record(stream, id);
  }
  uses.outstanding = uses.streams.size();
  blocks_[id].has_stream_uses = false;
}

void CachingAllocator::process_pending() {
  insert_deferred_events();
  events_.take_completed([this](BlockId id) { finish_event(id); });
}

/// Blocks freed during a session: uses from inside it are known to be over; the others get events.
void CachingAllocator::insert_deferred_events() {
  const std::vector<BlockId> deferred = std::exchange(deferred_, {});
  for (const BlockId id : deferred) {
    StreamUses& uses = uses_[id];
    const auto over = std::ranges::remove_if(uses.streams, [&](StreamId stream) {
      return std::ranges::binary_search(uses.in_session, stream);
    });
    uses.streams.erase(over.begin(), over.end());
    record_events(id);
    if (uses.outstanding == 0) {
      complete_free(id);
    }
  }
}

void CachingAllocator::finish_event(BlockId id) {
  if (--uses_.at(id).outstanding == 0) {
    complete_free(id);
  }
}

}  // namespace highwater
