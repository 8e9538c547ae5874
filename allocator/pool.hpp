// A pool: the cached blocks of one kind (small or large) and one owner.
//
// Streams are not separate pools; PyTorch orders one set by stream first. Here each stream has its
// own list, visited in stream order, which is the same order.
// Source: struct BlockPool of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "allocator/block.hpp"
#include "allocator/free_list.hpp"
#include "allocator/size_policy.hpp"
#include "traces/ids.hpp"

namespace highwater {

struct Pool {
  PoolKind kind = PoolKind::small;
  PoolId owner;                    ///< the private pool it belongs to; {0,0} = default
  std::uint64_t search_count = 0;  ///< searches while garbage collection is active: its clock
  std::vector<std::unique_ptr<FreeList>> cached;     ///< by StreamId, made at first use
  std::vector<std::map<Address, BlockId>> unmapped;  ///< by StreamId: address space to grow into

  [[nodiscard]] bool is_private() const { return !owner.is_default(); }

  [[nodiscard]] const FreeList* find_list(StreamId stream) const {
    return stream.index() < cached.size() ? cached[stream.index()].get() : nullptr;
  }

  [[nodiscard]] FreeList& list(StreamId stream) {
    if (cached.size() <= stream.index()) {
      cached.resize(stream.index() + 1);
    }
    std::unique_ptr<FreeList>& slot = cached[stream.index()];
    if (!slot) {
      slot = std::make_unique<FreeList>();
    }
    return *slot;
  }

  [[nodiscard]] std::map<Address, BlockId>& unmapped_of(StreamId stream) {
    if (unmapped.size() <= stream.index()) {
      unmapped.resize(stream.index() + 1);
    }
    return unmapped[stream.index()];
  }
};

}  // namespace highwater
