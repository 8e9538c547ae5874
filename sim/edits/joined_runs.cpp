// Two runs one after the other in the same process.
#include <algorithm>

#include <fmt/format.h>

#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"

namespace highwater {
namespace {

/// Translates the events of a second run to the tables of the first.
class RunAppender {
 public:
  RunAppender(RequestTrace& trace, const RequestTrace& next)
      : trace_(&trace),
        next_(&next),
        first_allocation_(trace.allocation_count),
        streams_(streams_called(trace, next.stream_handles)) {
    add_strings();
    add_stacks();
    add_pools();
    for (const Event& event : trace.events) {
      steps_ = event.kind == EventKind::step ? std::max(steps_, event.value + 1) : steps_;
    }
    trace.allocation_count += next.allocation_count;
    add_names();
  }

  void append() {
    for (const Event& event : next_->events) {
      trace_->events.push_back(translated(event));
    }
  }

 private:
  void add_strings() {
    for (std::size_t i = 0; i < next_->tables.strings.size(); ++i) {
      strings_.push_back(trace_->tables.strings.intern(next_->tables.strings[StringId{i}]));
    }
  }

  void add_stacks() {
    const StackTable& stacks = next_->tables.stacks;
    std::vector<FrameId> frames;
    for (std::size_t i = 0; i < stacks.frame_count(); ++i) {
      Frame frame = stacks.frame(FrameId{i});
      frame.file = strings_[frame.file.index()];
      frame.function = strings_[frame.function.index()];
      frames.push_back(trace_->tables.stacks.intern_frame(frame));
    }
    for (std::size_t i = 0; i < stacks.stack_count(); ++i) {
      std::vector<FrameId> stack;
      for (const FrameId frame : stacks.stack(StackId{i})) {
        stack.push_back(frames[frame.index()]);
      }
      stacks_.push_back(trace_->tables.stacks.intern_stack(stack));
    }
  }

  /// PyTorch numbers the pools of a process; those of the second run come after the first's.
  void add_pools() {
    PoolId last;
    for (const PoolId& pool : trace_->pools) {
      last = {std::max(last.capture, pool.capture), std::max(last.user, pool.user)};
    }
    for (PoolId pool : next_->pools) {
      pool.capture += pool.capture == 0 ? 0 : last.capture;
      pool.user += pool.user == 0 ? 0 : last.user;
      pools_.push_back(trace_->index_of(pool));
    }
  }

  void add_names() {
    std::vector<std::string>& names = trace_->allocation_names;
    if (names.empty() && next_->allocation_names.empty()) {
      return;
    }
    for (std::size_t i = names.size(); i < trace_->allocation_count; ++i) {
      const bool is_named = i >= first_allocation_ && !next_->allocation_names.empty();
      names.push_back(is_named ? "then-" + next_->allocation_names[i - first_allocation_]
                               : std::to_string(i));
    }
  }

  [[nodiscard]] Event translated(Event event) const {
    if (event.allocation.has_value()) {
      event.allocation = AllocationId{first_allocation_ + event.allocation.index()};
    }
    if (event.stream.has_value()) {
      event.stream = streams_[event.stream.index()];
    }
    if (event.stack.has_value()) {
      event.stack = stacks_[event.stack.index()];
    }
    if (event.kind == EventKind::step) {
      event.value += steps_;
    } else if (event.kind == EventKind::phase || event.kind == EventKind::op ||
               event.kind == EventKind::set_settings) {
      event.value = strings_[event.text().index()].value();
    } else if (event.kind >= EventKind::pool_begin && event.kind <= EventKind::pool_release) {
      event.pool = pools_[event.pool];
    }
    return event;
  }

  RequestTrace* trace_;
  const RequestTrace* next_;
  std::size_t first_allocation_;
  std::vector<StreamId> streams_;
  std::vector<StringId> strings_;
  std::vector<StackId> stacks_;
  std::vector<PoolIndex> pools_;
  std::uint64_t steps_ = 0;  ///< numbers that the first run uses
};

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
