// A stretch of requests that comes again, and again: the same sizes on the same streams, freed in
// the same order, each time for allocations that are numbered on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "traces/request_trace.hpp"

namespace highwater {

/// Events that request a number of allocations, numbered in order.
struct Stretch {
  std::size_t begin = 0;   ///< its first event
  std::size_t length = 0;  ///< in events
  std::uint32_t allocations = 0;

  [[nodiscard]] std::size_t end() const { return begin + length; }
};

struct RequestPeriod : Stretch {
  AllocationId first;  ///< the first allocation that it requests
  std::uint64_t frees = 0;
  std::uint64_t operations = 0;

  /// The allocation that stands for `id` some periods later.
  [[nodiscard]] AllocationId later(AllocationId id, std::uint64_t periods) const {
    return AllocationId{id.index() + periods * allocations};
  }

  [[nodiscard]] bool requests(AllocationId id) const { return id >= first && id < later(first, 1); }
};

/// The events [begin, begin + length) as a period; nothing if they change settings or pools, if
/// allocations are not numbered in order, or if there are none.
std::optional<RequestPeriod> period_of(const RequestTrace& trace, std::size_t begin,
                                       std::size_t length);

/// How many events from the end of `stretch` on are those of the stretch once more (and again), up
/// to the event `end`.
std::size_t events_repeated(const RequestTrace& trace, Stretch stretch, std::size_t end);

}  // namespace highwater
