#include "sim/reduction/program.hpp"

#include <algorithm>

namespace highwater {
namespace {

bool names_allocation(const Event& event) {
  return event.kind == EventKind::alloc || event.kind == EventKind::free ||
         event.kind == EventKind::record_stream;
}

/// One more than the highest number of an allocation.
std::size_t number_count(const Program& program) {
  std::size_t count = 0;
  for (const Event& event : program) {
    if (names_allocation(event)) {
      count = std::max(count, event.allocation.index() + 1);
    }
  }
  return count;
}

}  // namespace

Program program_of(const RequestTrace& trace, std::size_t events) {
  Program program;
  for (std::size_t i = 0; i < events; ++i) {
    const Event& event = trace.events[i];
    if (event.is_operation() && event.kind != EventKind::reset_peaks) {
      program.push_back(event);
    }
  }
  return renumbered(program);
}

bool has_event(const RequestTrace& trace, EventKind kind) {
  for (const Event& event : trace.events) {
    if (event.kind == kind) {
      return true;
    }
  }
  return false;
}

std::size_t allocation_count(const Program& program) {
  return static_cast<std::size_t>(
      std::ranges::count(program, EventKind::alloc, [](const Event& event) { return event.kind; }));
}

Program renumbered(const Program& program) {
  std::vector<AllocationId> numbers(number_count(program));
  std::size_t next = 0;
  Program result;
  result.reserve(program.size());
  for (Event event : program) {
    if (event.kind == EventKind::alloc) {
      numbers[event.allocation.index()] = AllocationId{next++};
    }
    if (names_allocation(event)) {
      event.allocation = numbers[event.allocation.index()];
    }
    if (!names_allocation(event) || event.allocation.has_value()) {
      result.push_back(event);
    }
  }
  return result;
}

TraceShell::TraceShell(const RequestTrace& trace) {
  trace_.header = trace.header;
  trace_.stream_handles = trace.stream_handles;
  trace_.pools = trace.pools;
  trace_.tables.strings = trace.tables.strings;
}

const RequestTrace& TraceShell::around(const Program& program) {
  trace_.events = {};
  trace_.allocation_count = 0;
  for (Event event : program) {
    event.stack = StackId::none();
    trace_.events.push_back(event);
  }
  trace_.allocation_count = number_count(program);
  return trace_;
}

}  // namespace highwater
