// The requests of a trace as a list that passes of a reduction change.
//
// A program has operations only: markers are left out, and so are resets of peak statistics, which
// no decision depends on. Allocations are numbered from 0 in the order of their requests.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/event.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

using Program = std::vector<Event>;

/// The operations of the first `events` events of `trace`.
Program program_of(const RequestTrace& trace, std::size_t events);

/// Whether `trace` has an event of this kind.
bool has_event(const RequestTrace& trace, EventKind kind);

/// How many allocations `program` makes.
std::size_t allocation_count(const Program& program);

/// Numbers allocations anew, and leaves out what names none that exists.
Program renumbered(const Program& program);

/// Header, streams, pools and settings of a trace around other requests, which lose their call
/// stacks: no decision depends on them.
class TraceShell {
 public:
  explicit TraceShell(const RequestTrace& trace);

  /// The trace with these requests, until the next call.
  const RequestTrace& around(const Program& program);

 private:
  RequestTrace trace_;
};

}  // namespace highwater
