// A pool: the cached blocks of one kind (small or large) and one owner, by stream.
//
// Streams are not separate pools; PyTorch orders one set by stream first. Here each stream has its
// own part, and the parts are visited in stream order, which gives the same order. Source: struct
// BlockPool of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "allocator/free_list.hpp"
#include "allocator/size_policy.hpp"
#include "traces/address.hpp"
#include "traces/ids.hpp"

namespace highwater {

struct Pool;

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
  std::uint64_t search_count =
      0;  ///< number of searches while garbage collection is active, its clock
  std::vector<std::unique_ptr<StreamCache>> streams;  ///< by StreamId, created at first use

  [[nodiscard]] bool is_private() const { return !owner.is_default(); }

  [[nodiscard]] const StreamCache* find(StreamId stream) const {
    return stream.index() < streams.size() ? streams[stream.index()].get() : nullptr;
  }

  [[nodiscard]] StreamCache& of(StreamId stream) {
    if (stream.index() >= streams.size() || !streams[stream.index()]) [[unlikely]] {
      add(stream);
    }
    return *streams[stream.index()];
  }

 private:
  void add(StreamId stream) {
    if (streams.size() <= stream.index()) {
      streams.resize(stream.index() + 1);
    }
    streams[stream.index()] = std::make_unique<StreamCache>();
    streams[stream.index()]->pool = this;
    streams[stream.index()]->kind = kind;
    streams[stream.index()]->stream = stream;
  }
};

}  // namespace highwater
