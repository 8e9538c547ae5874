// What one training step of a trace asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater::distributed_runs {

/// Bytes of the allocations of step `wanted` (from 0), minus bytes of its frees, in order.
inline std::vector<std::int64_t> requests_of(const RequestTrace& trace, std::uint64_t wanted) {
  std::vector<std::int64_t> requests;
  std::vector<std::int64_t> bytes;
  std::uint64_t step = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      step = event.value + 1;
    } else if (event.kind == EventKind::alloc) {
      bytes.push_back(static_cast<std::int64_t>(event.value));
      if (step == wanted + 1) {
        requests.push_back(bytes.back());
      }
    } else if (event.kind == EventKind::free && step == wanted + 1) {
      requests.push_back(-bytes[event.allocation.index()]);
    }
  }
  return requests;
}

}  // namespace highwater::distributed_runs
