// Two runs one after the other in the same process.
#include <algorithm>

#include <fmt/format.h>

#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/run_appender.hpp"

namespace highwater {
namespace {

/// What a run holds at its end, in the order in which it was made.
struct Leftover {
  std::vector<AllocationId> blocks;
  Bytes bytes;
};

Leftover leftover_of(const RequestTrace& trace) {
  constexpr std::uint64_t kFreed = ~std::uint64_t{0};
  std::vector<std::uint64_t> sizes(trace.allocation_count, kFreed);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      sizes[event.allocation.index()] = event.value;
    } else if (event.kind == EventKind::free) {
      sizes[event.allocation.index()] = kFreed;
    }
  }
  Leftover leftover;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && sizes[event.allocation.index()] != kFreed) {
      leftover.blocks.push_back(event.allocation);
      leftover.bytes += event.bytes();
    }
  }
  return leftover;
}

}  // namespace

EditReport apply(const ThenRun& edit, EditedRun& run) {
  EditReport report;
  const Leftover leftover = leftover_of(run.trace);
  const bool is_freed = edit.left == ThenRun::Left::freed;
  if (is_freed) {
    for (const AllocationId id : leftover.blocks) {
      run.trace.events.push_back({.allocation = id, .kind = EventKind::free});
    }
  }
  run.trace.events.push_back({.kind = EventKind::all_streams_done});
  for (const Event& event : edit.run->events) {
    if (event.kind == EventKind::alloc) {
      ++report.blocks;
      report.bytes += event.bytes();
    }
  }
  report.changed = report.blocks;
  RunAppender(run.trace, *edit.run).append();
  report.done = fmt::format("another run follows, with {} allocations", report.blocks);
  report.assumed.push_back(fmt::format(
      "between the runs all streams are done, and the {} blocks ({}) that the first still holds "
      "are {}; its settings hold for both",
      leftover.blocks.size(), to_iec(leftover.bytes),
      is_freed ? "freed in the order in which they were made" : "kept"));
  report.unknown.emplace_back(
      "what the second run finds done already: imports, libraries' handles and workspaces that a "
      "process makes once are asked for again");
  return report;
}

}  // namespace highwater
