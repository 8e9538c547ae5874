// Returns cached memory to the device: empty_cache, the release before a retry, oversize blocks,
// and garbage collection by age. Source: DeviceCachingAllocator::release_cached_blocks,
// release_blocks, release_block, release_available_cached_blocks and garbage_collect_cached_blocks
// of PyTorch 2.6.0.
#include <algorithm>
#include <utility>

#include "allocator/caching_allocator.hpp"

namespace highwater {

bool CachingAllocator::empty_cache() {
  if (!is_held_back()) {
    release_all_cached();
    return true;
  }
  if (version_->empty_cache == EmptyCacheInSession::refused) {
    ++stats_.counters.num_sync_all_streams;  // counted before the assert
    return false;
  }
  release_freeable_pools();
  return true;
}

void CachingAllocator::release_all_cached() {
  synchronize_and_free_events();
  release_default_pools();
  release_freeable_pools();
}

void CachingAllocator::release_default_pools() {
  release_pool_blocks(default_pools_.large);
  release_pool_blocks(default_pools_.small);
}

void CachingAllocator::release_freeable_pools() {
  for (const PoolId id : freeable_) {
    release_blocks_of(id);
  }
  drop_empty_pools();
}

// Source: emptyCache(mempool_id), which ~MemPool calls, of PyTorch 2.15. The original waits for the
// pool's own events first; callers say that they have completed (complete_events).
void CachingAllocator::empty_pool(PoolId id) {
  if (std::ranges::find(freeable_, id) != freeable_.end()) {
    process_pending();
    release_blocks_of(id);
    drop_empty_pools();
  }
}

void CachingAllocator::release_blocks_of(PoolId id) {
  PoolPair& pools = *private_pools_.at(id).pools;
  release_pool_blocks(pools.small);
  release_pool_blocks(pools.large);
}

/// PyTorch goes by its count, and so deletes some pools of expandable segments while blocks of them
/// are in use. What such a pool holds is never given back.
void CachingAllocator::drop_empty_pools() {
  std::erase_if(freeable_, [this](PoolId id) {
    PrivatePool& pool = private_pools_.at(id);
    if (is_open(id) || (pool.held != Bytes{} && pool.device_uses > 0)) {
      return false;
    }
    pool.is_forgotten = pool.held != Bytes{};
    if (!pool.is_forgotten) {
      private_pools_.erase(id);
      std::erase(oom_pools_, id);
    }
    return true;
  });
}

void CachingAllocator::synchronize_and_free_events() {
  ++stats_.counters.num_sync_all_streams;
  insert_deferred_events();
  events_.take_all([this](BlockId id) { finish_event(id); });
}

/// Every free fixed block without neighbours is released; then expandable ones are unmapped.
void CachingAllocator::release_pool_blocks(Pool& pool) {
  std::vector<BlockId> to_unmap;
  for (const auto& [stream, cache] : pool.streams) {
    for (const FreeEntry& entry : cache.free.snapshot()) {
      const Block& block = blocks_[entry.block];
      if (block.is_expandable()) {
        to_unmap.push_back(entry.block);
      } else if (!block.is_split()) {
        release_fixed(entry.block);
      }
    }
  }
  for (const BlockId id : to_unmap) {
    unmap_block(id);
    if (!blocks_[id].is_split()) {
      release_reservation(id);
    }
  }
}

/// Releases a cached segment (cudaFree). `id` is a free fixed block without neighbours.
void CachingAllocator::release_fixed(BlockId id) {
  const Block block = blocks_[id];
  uncache(id);
  blocks_.remove(id);
  device_->free({block.address, block.size});
  stats_.decrease(Stat::segment, block.kind(), 1);
  if (block.size >= settings_.max_split_size) {
    stats_.oversize_segments.change(-1);
  }
  account_released_memory(block, block.size);
  decide(RecordedAction::segment_free, block.address, block.size, block.stream());
}

/// Before the retry: enough oversize cached blocks of the request's stream to make room for it.
/// True if that succeeded; whatever was released stays released either way.
bool CachingAllocator::release_oversize(const Request& request) {
  if (settings_.max_split_size == kUnlimited) {
    return false;
  }
  const Bytes wanted = std::max(request.size, settings_.max_split_size);
  const FreeList& list = request.cache->free;
  const FreeEntry* entry = list.lower_bound(wanted);
  if (entry != nullptr && !blocks_[entry->block].is_expandable()) {
    const bool whole_segment = !blocks_[entry->block].is_split();
    if (whole_segment) {
      release_fixed(entry->block);
    }
    return whole_segment;
  }
  entry = entry == nullptr ? list.last() : list.previous(*entry);
  Bytes released;
  while (entry != nullptr && released < wanted && Bytes{entry->size} >= settings_.max_split_size) {
    const FreeEntry current = *entry;
    if (!blocks_[current.block].is_expandable() && !blocks_[current.block].is_split()) {
      released += Bytes{current.size};
      release_fixed(current.block);
    }
    entry = list.previous(current);
  }
  return released >= wanted;
}

bool CachingAllocator::garbage_collection_active() const {
  return settings_.garbage_collection_threshold > 0 &&
         (allowed_ || device_->recorded_reclaim().has_value());
}

/// How much garbage collection must free: the memory held above the threshold.
Bytes CachingAllocator::reclaim_target() const {
  if (const std::optional<Bytes> recorded = device_->recorded_reclaim()) {
    return *recorded;
  }
  const Bytes limit{static_cast<std::uint64_t>(settings_.garbage_collection_threshold *
                                               static_cast<double>(allowed_->count()))};
  return held_ - std::min(held_, limit);
}

/// Frees whole cached segments of the default large pool, oldest first by average age, until the
/// memory held is below the threshold.
void CachingAllocator::collect_garbage() {
  const Bytes target = reclaim_target();
  if (target.count() == 0) {
    return;
  }
  const Pool& pool = default_pools_.large;
  const auto age = [&](BlockId id) {
    return static_cast<double>(pool.search_count - blocks_[id].gc_base);
  };
  std::vector<BlockId> candidates;
  double total_age = 0;
  for (const auto& [stream, cache] : pool.streams) {
    for (const FreeEntry& entry : cache.free.snapshot()) {
      if (!blocks_[entry.block].is_split()) {
        candidates.push_back(entry.block);
        total_age += age(entry.block);
      }
    }
  }
  Bytes reclaimed;
  bool freed_one = true;
  while (reclaimed < target && freed_one && !candidates.empty()) {
    const double bar = total_age / static_cast<double>(candidates.size());
    freed_one = false;
    std::erase_if(candidates, [&](BlockId id) {
      if (age(id) < bar || blocks_[id].is_expandable()) {
        return false;
      }
      reclaimed += blocks_[id].size;
      total_age -= age(id);
      release_fixed(id);
      freed_one = true;
      return true;
    });
  }
}

void CachingAllocator::account_new_memory(const Block& block, Bytes size) {
  const Pool& pool = *block.home->pool;
  held_ += size;
  stats_.increase(Stat::reserved_bytes, pool.kind, size);
  ++stats_.counters.num_device_alloc;
  if (pool.is_private()) {
    resize_private_pool(pool.owner, private_pools_.at(pool.owner).held + size);
  }
}

void CachingAllocator::account_released_memory(const Block& block, Bytes size) {
  const Pool& pool = *block.home->pool;
  held_ -= size;
  stats_.decrease(Stat::reserved_bytes, pool.kind, size);
  ++stats_.counters.num_device_free;
  if (pool.is_private()) {
    --private_pools_.at(pool.owner).device_uses;
    resize_private_pool(pool.owner, private_pools_.at(pool.owner).held - size);
  }
}

}  // namespace highwater
