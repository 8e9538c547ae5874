// Cached memory back to the device: rules 6, 7 and 8.
#include <algorithm>
#include <iterator>

#include "tests/support/oracle/naive_allocator.hpp"

namespace highwater::oracle {

bool NaiveAllocator::empty_cache() {
  if (!sessions_.empty() && version_->empty_cache == EmptyCacheInSession::refused) {
    ++stats_.counters.num_sync_all_streams;
    return false;
  }
  release_cached();
  return true;
}

void NaiveAllocator::release_cached() {
  if (sessions_.empty()) {
    ++stats_.counters.num_sync_all_streams;
    wait_for_events();
    release_pool_blocks(large_);
    release_pool_blocks(small_);
  }
  release_freeable_pools();
}

void NaiveAllocator::release_freeable_pools() {
  for (auto it = freeable_.begin(); it != freeable_.end();) {
    NaivePrivatePool* const pool = *it;
    release_pool_blocks(pool->small);
    release_pool_blocks(pool->large);
    if (pool->segments == 0) {
      it = freeable_.erase(it);
      private_pools_.erase(PoolId{pool->id});
    } else {
      ++it;
    }
  }
}

void NaiveAllocator::release_pool_blocks(NaivePool& pool) {
  std::vector<NaiveBlock*> expandable;
  for (auto it = pool.blocks.begin(); it != pool.blocks.end();) {
    NaiveBlock* const block = *it++;
    if (block->reservation != nullptr) {
      expandable.push_back(block);
    } else if (!block->is_split()) {
      release_segment(block);
    }
  }
  for (NaiveBlock* block : expandable) {
    block = unmap_block(block);
    if (block != nullptr && !block->is_split()) {
      release_reservation(block);
    }
  }
}

void NaiveAllocator::release_segment(NaiveBlock* block) {
  const PoolKind kind = block->pool->kind;
  decide(RecordedAction::segment_free, block->address, block->size, block->stream);
  device_->free({block->address, block->size});
  held_ -= block->size;
  if (block->pool->owner != nullptr) {
    --block->pool->owner->segments;
  }
  stats_.change(Stat::segment, kind, -1);
  stats_.decrease(Stat::reserved_bytes, kind, block->size);
  if (block->size >= settings_.max_split_size) {
    stats_.oversize_segments.change(-1);
  }
  ++stats_.counters.num_device_free;
  block->pool->blocks.erase(block);
  segments_.erase(block->address);
  delete block;
}

bool NaiveAllocator::release_oversize(const Request& request) {
  const Bytes limit = settings_.max_split_size;
  if (limit == kUnlimited) {
    return false;
  }
  auto& blocks = request.pool->blocks;
  NaiveBlock key;
  key.stream = request.stream;
  key.size = std::max(request.size, limit);
  auto it = blocks.lower_bound(&key);
  if (it != blocks.end() && (*it)->stream == request.stream && (*it)->reservation == nullptr) {
    release_segment(*it);
    return true;
  }
  Bytes released;
  while (it != blocks.begin() && released < key.size) {
    const auto largest = std::prev(it);
    NaiveBlock* const block = *largest;
    if (block->stream != request.stream || block->size < limit) {
      break;
    }
    if (block->reservation != nullptr) {
      it = largest;
    } else {
      released += block->size;
      release_segment(block);  // `it` stays valid: it is the one behind
    }
  }
  return released >= key.size;
}

bool NaiveAllocator::gc_is_active() const {
  return allowed_ && settings_.garbage_collection_threshold > 0;
}

void NaiveAllocator::collect_garbage() {
  const auto limit = Bytes{static_cast<std::uint64_t>(settings_.garbage_collection_threshold *
                                                      static_cast<double>(allowed_->count()))};
  if (held_ <= limit) {
    return;
  }
  const Bytes target = held_ - limit;
  const auto age = [&](const NaiveBlock* block) { return large_.searches - block->gc_base; };
  std::uint64_t total_age = 0;
  std::uint64_t candidates = 0;
  for (const NaiveBlock* block : large_.blocks) {
    if (!block->is_split()) {
      total_age += age(block);
      ++candidates;
    }
  }
  Bytes reclaimed;
  bool freed_any = true;
  while (reclaimed < target && freed_any && candidates > 0) {
    const double bar = static_cast<double>(total_age) / static_cast<double>(candidates);
    freed_any = false;
    for (auto it = large_.blocks.begin(); it != large_.blocks.end();) {
      NaiveBlock* const block = *it++;
      if (!block->is_split() && block->reservation == nullptr &&
          static_cast<double>(age(block)) >= bar) {
        freed_any = true;
        reclaimed += block->size;
        total_age -= age(block);
        --candidates;
        release_segment(block);
      }
    }
  }
}

}  // namespace highwater::oracle
