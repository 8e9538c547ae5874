// Private pools and their sessions: rule 11.
#include <algorithm>

#include "tests/support/oracle/naive_allocator.hpp"

namespace highwater::oracle {

NaivePool* NaiveAllocator::pool_for(Bytes rounded) {
  const bool is_small = rounded.count() <= 1024 * 1024;
  if (sessions_.empty()) {
    return is_small ? &small_ : &large_;
  }
  NaivePrivatePool* const session =
      version_->sessions == SessionOrder::oldest_first ? sessions_.front() : sessions_.back();
  return is_small ? &session->small : &session->large;
}

PoolCall NaiveAllocator::begin_pool(PoolId id) {
  const auto found = private_pools_.find(id);
  NaivePrivatePool* pool = nullptr;
  if (found == private_pools_.end()) {
    pool = private_pools_.emplace(id, std::make_unique<NaivePrivatePool>(id)).first->second.get();
  } else {
    pool = found->second.get();
    if (pool->use_count == 0) {
      return PoolCall::pool_released;
    }
    if (std::ranges::find(sessions_, pool) != sessions_.end()) {
      return PoolCall::already_open;
    }
    ++pool->use_count;
  }
  sessions_.push_back(pool);
  return PoolCall::ok;
}

PoolCall NaiveAllocator::end_pool(PoolId id) {
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end()) {
    return PoolCall::unknown_pool;
  }
  return std::erase(sessions_, found->second.get()) == 1 ? PoolCall::ok : PoolCall::not_open;
}

PoolCall NaiveAllocator::release_pool(PoolId id) {
  const auto found = private_pools_.find(id);
  if (found == private_pools_.end()) {
    return PoolCall::unknown_pool;
  }
  NaivePrivatePool* const pool = found->second.get();
  if (pool->use_count == 0) {
    return PoolCall::pool_released;
  }
  if (--pool->use_count == 0) {
    freeable_.push_back(pool);
  }
  return PoolCall::ok;
}

}  // namespace highwater::oracle
