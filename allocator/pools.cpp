// Private pools: memory that serves only the requests made while a session on the pool is open
// (CUDA graph capture, torch.cuda.MemPool).
// Source: DeviceCachingAllocator::beginAllocateToPool, endAllocateToPool, releasePool, get_pool of
// PyTorch 2.6.0.
#include <algorithm>
#include <bit>
#include <utility>

#include "allocator/caching_allocator.hpp"

namespace highwater {

Pool& CachingAllocator::pool_for(Bytes rounded) {
  const PoolKind kind = pool_kind(rounded);
  if (sessions_.empty()) {
    return default_pools_.of(kind);
  }
  const bool oldest = version_->sessions == SessionOrder::oldest_first;
  const PoolId pool = oldest ? sessions_.front().pool : sessions_.back().pool;
  return private_pools_.at(pool).pools->of(kind);
}

bool CachingAllocator::is_no_split(const Pool& pool) const {
  return pool.is_private() && private_pools_.at(pool.owner).options.no_split;
}

/// The pools with users that serve requests which would fail, in the order of PyTorch's hash table:
/// by slot, then by insertion. Source: fibonacci_hash_policy and sherwood_v3_table of
/// c10/util/flat_hash_map.h, MempoolIdHash of c10/core/Allocator.h, PyTorch 2.15. MemPools that
/// were made and never used are not known; they can only change the order within one slot.
std::vector<PoolId> CachingAllocator::pools_for_oom() const {
  std::vector<PoolId> pools = oom_pools_;
  std::erase_if(pools, [&](PoolId id) { return private_pools_.at(id).use_count == 0; });
  const std::size_t slots = std::max<std::size_t>(4, 2 * std::bit_ceil(pools.size()));
  const auto shift = static_cast<unsigned>(64 - std::countr_zero(slots));
  std::ranges::stable_sort(pools, {}, [&](PoolId id) {
    constexpr std::uint64_t kGolden = 11400714819323198485U;  // 2^64 by the golden ratio
    return (kGolden * (id.capture != 0 ? id.capture : id.user)) >> shift;
  });
  return pools;
}

bool CachingAllocator::is_open(PoolId id) const {
  return std::ranges::find(sessions_, id, &Session::pool) != sessions_.end();
}

PoolCall CachingAllocator::begin_pool(PoolId id, PoolOptions options, SessionKind kind) {
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end()) {
    private_pools_[id] = {.pools = std::make_unique<PoolPair>(id), .options = options};
    if (options.use_on_oom) {
      oom_pools_.push_back(id);
    }
  } else if (found->second.is_forgotten) {
    make_anew(found->second, id, options);
  } else if (found->second.use_count == 0) {
    return PoolCall::pool_released;
  } else if (is_open(id)) {
    return PoolCall::already_open;
  } else {
    ++found->second.use_count;
  }
  sessions_.push_back({.pool = id, .kind = kind});
  return PoolCall::ok;
}

/// The blocks of the forgotten pool stay where they are, and serve nobody once they are free.
void CachingAllocator::make_anew(PrivatePool& pool, PoolId id, PoolOptions options) {
  pool.forgotten.push_back(std::exchange(pool.pools, std::make_unique<PoolPair>(id)));
  pool.options = options;
  pool.use_count = 1;
  pool.device_uses = 0;
  pool.is_forgotten = false;
}

PoolCall CachingAllocator::end_pool(PoolId id) {
  if (!is_open(id)) {
    return private_pools_.contains(id) ? PoolCall::not_open : PoolCall::unknown_pool;
  }
  std::erase_if(sessions_, [id](const Session& each) { return each.pool == id; });
  return PoolCall::ok;
}

PoolCall CachingAllocator::release_pool(PoolId id) {
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end()) {
    return PoolCall::unknown_pool;
  }
  if (found->second.use_count == 0) {
    return PoolCall::pool_released;
  }
  if (--found->second.use_count == 0) {
    freeable_.push_back(id);
  }
  return PoolCall::ok;
}

void CachingAllocator::retire_pool(PoolId id) {
  std::erase(oom_pools_, id);
}

void CachingAllocator::resize_private_pool(PoolId owner, Bytes held) {
  PrivatePool& pool = private_pools_.at(owner);
  KeptHolding& kept = kept_holdings_[owner];
  if (kept.mark != mark_) {
    kept = {.mark = mark_, .held = pool.held};
  }
  pool.held = held;
}

std::vector<PoolHolding> CachingAllocator::marked_holdings() const {
  std::vector<PoolHolding> all{{PoolId{}, held_at_mark_}};
  for (const auto& [id, kept] : kept_holdings_) {
    const auto pool = private_pools_.find(id);
    const Bytes now = pool == private_pools_.end() ? Bytes{} : pool->second.held;
    all.push_back({id, kept.mark == mark_ ? kept.held : now});
    all.front().reserved -= all.back().reserved;
  }
  return all;
}

std::vector<PoolHolding> CachingAllocator::holdings() const {
  std::vector<PoolHolding> all{{PoolId{}, held_}};
  for (const auto& [id, pool] : private_pools_) {
    all.push_back({id, pool.held});
    all.front().reserved -= pool.held;
  }
  return all;
}

}  // namespace highwater
