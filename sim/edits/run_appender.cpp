#include "sim/edits/run_appender.hpp"

#include <algorithm>
#include <string>

#include "sim/edits/rewriting.hpp"

namespace highwater {

RunAppender::RunAppender(RequestTrace& trace, const RequestTrace& next)
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

void RunAppender::append() {
  for (const Event& event : next_->events) {
    trace_->events.push_back(translated(event));
  }
}

void RunAppender::add_strings() {
  for (std::size_t i = 0; i < next_->tables.strings.size(); ++i) {
    strings_.push_back(trace_->tables.strings.intern(next_->tables.strings[StringId{i}]));
  }
}

void RunAppender::add_stacks() {
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
void RunAppender::add_pools() {
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

void RunAppender::add_names() {
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

Event RunAppender::translated(Event event) const {
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

}  // namespace highwater
