// Which allocations of a recording a CUDA graph captured.
//
// An allocation goes to the pool of a capture exactly if its stream is being captured
// (CUDAGraph::capture_begin of aten/src/ATen/cuda/CUDAGraph.cpp), so its entry's pool tells: {n,0}
// is the pool of a graph that was captured without a `pool`. {0,n} is one of torch.cuda.MemPool or
// graph_pool_handle(), which both captures and use_mem_pool() may serve. There the marks of
// `highwater record` tell; in other recordings only a request that failed beside cached memory,
// which nothing but a capture leaves alone (since 2.13).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "traces/pool_options.hpp"
#include "traces/recording.hpp"

namespace highwater {

class CaptureSessions {
 public:
  CaptureSessions(const Recording& recording, const RecordedDevice& device);

  /// What a session of the private pool comes from that serves the entry at `index`.
  [[nodiscard]] SessionKind kind_of(PoolId pool, std::size_t index) const;

  /// Whether a capture that is marked has begun before the entry at `index` and not ended.
  [[nodiscard]] bool is_marked_at(std::size_t index) const;

  /// Whether it neither began nor ended at that entry, and was under way before: for what was
  /// called there, of which it is not known whether a mark of the same place came first.
  [[nodiscard]] bool is_marked_around(std::size_t index) const;

 private:
  /// From entry `entry` on so many captures are under way.
  struct Change {
    std::uint64_t entry = 0;
    std::size_t open = 0;
  };

  std::vector<Change> marks_;  ///< by entry
  std::set<PoolId> captured_;  ///< pools {0,n}, in recordings without marks
};

}  // namespace highwater
