// The private pool that is open when a request fails. A CUDA graph that is being captured opens one
// (torch/cuda/graphs.py), and so does torch.cuda.use_mem_pool.
//
// While a graph is captured, before 2.13 while any pool is open, PyTorch gives no cached memory
// back to the device and waits for no stream (CUDACachingAllocator.cpp: malloc, captures_underway),
// so what is cached elsewhere is out of reach, however much it is.
#pragma once

#include <cstddef>
#include <optional>

#include "allocator/memory_map.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

struct OpenSession {
  PoolId pool;
  std::size_t begin = 0;    ///< event before which nothing of the session has happened
  bool is_capture = false;  ///< a CUDA graph is captured
  bool holds_back = false;  ///< a capture does, in every release
  Bytes returnable;         ///< in whole segments of the common pools that are free
};

/// The session that takes the request at event `at`; absent when none is open. What else holds back
/// in a release, and the state, are left to the caller.
std::optional<OpenSession> open_session(const RequestTrace& trace, std::size_t at);

/// What empty_cache gives back of the common pools.
Bytes returnable(const MemoryMap& map);

}  // namespace highwater
