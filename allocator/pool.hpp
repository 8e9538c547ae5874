// A pool: the cached blocks of one kind (small or large) and one owner, by stream.
//
// Streams are not separate pools; PyTorch orders one set by stream first. Here each stream has its
// own part, and the parts are visited in stream order, which gives the same order. Source: struct
// BlockPool of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#pragma once

#include <cstdint>
#include <map>

#include "allocator/free_list.hpp"
#include "allocator/size_policy.hpp"
#include "traces/address.hpp"
#include "traces/ids.hpp"

namespace highwater {

struct Pool;

/// What the segments and mapped ranges of one owner take from the device.
struct PoolHolding {
  PoolId owner;  ///< {0, 0}: the common pools
  Bytes reserved;
};

/// The part of a pool that belongs to one stream. Blocks refer to it, so it never moves.
struct StreamCache {
  Pool* pool = nullptr;
  PoolKind kind = PoolKind::small;  ///< of the pool; copied to save one load
  StreamId stream;
  FreeList free;
  std::map<Address, BlockId> unmapped;  ///< address space that expandable segments can grow into
};

struct Pool {
  PoolKind kind = PoolKind::small;
  PoolId owner;  ///< the private pool it belongs to; {0,0} = default
  /// Searches while garbage collection is active: its clock.
  std::uint64_t search_count = 0;
  std::map<StreamId, StreamCache> streams;  ///< made when a stream is first used

  [[nodiscard]] bool is_private() const { return !owner.is_default(); }

  [[nodiscard]] StreamCache& of(StreamId stream) {
    if (stream != last_stream_) [[unlikely]] {
      last_ = &find_or_add(stream);
      last_stream_ = stream;
    }
    return *last_;
  }

 private:
  StreamCache& find_or_add(StreamId stream) {
    StreamCache& cache = streams[stream];
    cache.pool = this;
    cache.kind = kind;
    cache.stream = stream;
    return cache;
  }

  // Most requests are for the stream of the one before.
  StreamId last_stream_;  ///< none at first, which no request is for
  StreamCache* last_ = nullptr;
};

}  // namespace highwater
