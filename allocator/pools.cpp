// Private pools: memory that serves only the requests made while a session on the pool is open
// (CUDA graph capture, torch.cuda.MemPool).
// Source: DeviceCachingAllocator::beginAllocateToPool, endAllocateToPool, releasePool, get_pool of
// PyTorch 2.6.0.
#include <algorithm>

#include "allocator/caching_allocator.hpp"

namespace highwater {

Pool& CachingAllocator::pool_for(Bytes rounded) {
  const PoolKind kind = pool_kind(rounded);
  if (sessions_.empty()) {
    return default_pools_.of(kind);
  }
  const bool oldest = version_->sessions == SessionOrder::oldest_first;
  return private_pools_.at(oldest ? sessions_.front() : sessions_.back()).pools->of(kind);
}

bool CachingAllocator::is_no_split(const Pool& pool) const {
  return pool.is_private() && private_pools_.at(pool.owner).options.no_split;
}

bool CachingAllocator::is_open(PoolId id) const {
  return std::ranges::find(sessions_, id) != sessions_.end();
}

PoolCall CachingAllocator::begin_pool(PoolId id, PoolOptions options) {
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end()) {
    private_pools_[id] = {.pools = std::make_unique<PoolPair>(id), .options = options};
  } else if (found->second.use_count == 0) {
    return PoolCall::pool_released;
  } else if (is_open(id)) {
    return PoolCall::already_open;
  } else {
    ++found->second.use_count;
  }
  sessions_.push_back(id);
  return PoolCall::ok;
}

PoolCall CachingAllocator::end_pool(PoolId id) {
  if (!is_open(id)) {
    return private_pools_.contains(id) ? PoolCall::not_open : PoolCall::unknown_pool;
  }
  std::erase(sessions_, id);
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
