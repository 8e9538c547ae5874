// Which short runs have shown that they may be lengthened, for the ranks of one plan.
//
// Whether the rounds of a short run may be repeated shows in a second, longer run
// (more_rounds.hpp). Ranks of a plan that run the same stage make the same requests in the same
// order and differ in sizes, those of their shards. So what the longer run of one of them showed
// holds for all whose short runs have its shape: the same events, of the same allocations, on the
// same streams.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "traces/request_trace.hpp"

namespace highwater {

/// A number for all of the trace's events but their sizes and sites.
std::uint64_t shape_of_events(const RequestTrace& trace);

/// Shapes that a longer run confirmed. Several threads may use it. One for each plan.
class ShownShapes {
 public:
  [[nodiscard]] bool contains(std::uint64_t shape) const {
    const std::scoped_lock lock(mutex_);
    return shapes_.contains(shape);
  }

  void add(std::uint64_t shape) {
    const std::scoped_lock lock(mutex_);
    shapes_.insert(shape);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> shapes_;
};

}  // namespace highwater
