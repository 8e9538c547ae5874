// Free, merge, and the events of other streams that freed blocks wait for: rule 9.
#include <utility>

#include "tests/support/oracle/naive_allocator.hpp"

namespace highwater::oracle {
namespace {

bool can_merge(const NaiveBlock* block, const NaiveBlock* neighbour) {
  return neighbour != nullptr && neighbour->is_free() && neighbour->mapped == block->mapped;
}

void remove_from_set(NaiveBlock* block) {
  if (block->mapped) {
    block->pool->blocks.erase(block);
  } else {
    block->pool->unmapped.erase(block);
  }
}

/// `block` swallows the block that follows it.
void absorb_next(NaiveBlock* block) {
  NaiveBlock* const gone = block->next;
  block->size += gone->size;
  block->next = gone->next;
  if (block->next != nullptr) {
    block->next->prev = block;
  }
  delete gone;
}

}  // namespace

void NaiveAllocator::free(NaiveBlock* block) {
  const PoolKind kind = block->pool->kind;
  block->allocated = false;
  stats_.change(Stat::allocation, kind, -1);
  stats_.decrease(Stat::allocated_bytes, kind, block->size);
  decide(RecordedAction::free_requested, block->address, block->requested, block->stream);
  if (block->size >= settings_.max_split_size) {
    stats_.oversize_allocations.change(-1);
  }
  if (block->uses.empty()) {
    free_block(block);
  } else if (sessions_.empty()) {
    record_events(block);
  } else {
    deferred_.push_back(block);
  }
}

void NaiveAllocator::free_block(NaiveBlock* block) {
  const PoolKind kind = block->pool->kind;
  decide(RecordedAction::free_completed, block->address, block->requested, block->stream);
  stats_.change(Stat::active, kind, -1);
  stats_.decrease(Stat::active_bytes, kind, block->size);
  stats_.decrease(Stat::requested_bytes, kind, block->requested);
  block->session_uses.clear();
  const bool is_fixed = block->reservation == nullptr;
  std::int64_t count_change = 0;
  std::int64_t bytes_change = 0;
  for (const NaiveBlock* neighbour : {block->prev, block->next}) {
    if (can_merge(block, neighbour)) {
      --count_change;
      bytes_change -= static_cast<std::int64_t>(neighbour->size.count());
    }
  }
  block = merge_with_neighbours(block);
  insert_free(block);
  if (block->is_split()) {
    ++count_change;
    bytes_change += static_cast<std::int64_t>(block->size.count());
  }
  if (is_fixed) {
    stats_.change(Stat::inactive_split, kind, count_change);
    stats_.change(Stat::inactive_split_bytes, kind, bytes_change);
  }
}

/// Joins `block`, which is in no set, with its free neighbours; returns what it is part of now.
NaiveBlock* NaiveAllocator::merge_with_neighbours(NaiveBlock* block) {
  if (can_merge(block, block->prev)) {
    block = block->prev;
    remove_from_set(block);
    absorb_next(block);
  }
  if (can_merge(block, block->next)) {
    remove_from_set(block->next);
    absorb_next(block);
  }
  return block;
}

void NaiveAllocator::insert_free(NaiveBlock* block) {
  block->gc_base = block->pool->searches;
  block->pool->blocks.insert(block);
}

void NaiveAllocator::record_stream(NaiveBlock* block, StreamId stream) {
  if (stream == block->stream) {
    return;
  }
  block->uses.insert(stream);
  if (!sessions_.empty()) {
    block->session_uses.insert(stream);
  }
}

void NaiveAllocator::record_events(NaiveBlock* block) {
  for (const StreamId stream : std::exchange(block->uses, {})) {
    EventQueue& queue = events_[stream];
    queue.events.push_back({++queue.recorded, block});
    ++block->event_count;
  }
}

void NaiveAllocator::record_deferred_events() {
  for (NaiveBlock* const block : std::exchange(deferred_, {})) {
    for (const StreamId stream : std::exchange(block->session_uses, {})) {
      block->uses.erase(stream);
    }
    record_events(block);
    if (block->event_count == 0) {
      free_block(block);
    }
  }
}

void NaiveAllocator::process_events() {
  record_deferred_events();
  for (auto& [stream, queue] : events_) {
    take_completed(queue);
  }
}

void NaiveAllocator::wait_for_events() {
  record_deferred_events();
  complete_all_events();
  for (auto& [stream, queue] : events_) {
    take_completed(queue);
  }
}

void NaiveAllocator::take_completed(EventQueue& queue) {
  while (!queue.events.empty() && queue.events.front().number <= queue.completed) {
    NaiveBlock* const block = queue.events.front().block;
    queue.events.pop_front();
    if (--block->event_count == 0) {
      free_block(block);
    }
  }
}

void NaiveAllocator::complete_events(StreamId stream) {
  EventQueue& queue = events_[stream];
  queue.completed = queue.recorded;
}

void NaiveAllocator::complete_all_events() {
  for (auto& [stream, queue] : events_) {
    queue.completed = queue.recorded;
  }
}

}  // namespace highwater::oracle
