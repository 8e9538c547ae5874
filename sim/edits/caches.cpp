// Edits of what is cached: a block at the start, and empty_cache on the way.
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"
#include "sim/edits/steps_of_run.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

void push_empty_cache(ChunkedVector<Event>& events, EditReport& report) {
  events.push_back({.kind = EventKind::empty_cache});
  ++report.changed;
}

/// Events in front of all others.
void put_first(std::initializer_list<Event> events, EditedRun& run) {
  bool is_first = true;
  const auto put = [&](ChunkedVector<Event>& written) {
    for (const Event& event : events) {
      written.push_back(event);
    }
  };
  rewrite(run, [&](const Event& event, ChunkedVector<Event>& written) {
    if (std::exchange(is_first, false)) {
      put(written);
    }
    written.push_back(event);
  });
  if (is_first) {
    put(run.trace.events);
  }
}

/// The events before which every n-th step has ended, ascending.
std::vector<std::size_t> step_ends(const Steps& steps, std::uint64_t every) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    if (steps.steps[i].complete && (i + 1) % every == 0) {
      ends.push_back(steps.steps[i].end);
    }
  }
  return ends;
}

void empty_at_step_ends(const EmptyCaches& edit, EditedRun& run, EditReport& report) {
  const Steps steps = steps_of_run(run);
  if (steps.steps.empty()) {
    throw UsageError(
        "no steps were found in this run; call empty_cache after every N allocations instead "
        "(empty_cache:every=N,of=allocations)");
  }
  const std::vector<std::size_t> ends = step_ends(steps, edit.every);
  auto next = ends.begin();
  std::size_t read = 0;
  rewrite(run, [&](const Event& event, ChunkedVector<Event>& written) {
    if (next != ends.end() && *next == read) {
      push_empty_cache(written, report);
      ++next;
    }
    ++read;
    written.push_back(event);
  });
  for (; next != ends.end(); ++next) {
    push_empty_cache(run.trace.events, report);
  }
  report.assumed.push_back(where_steps_begin(steps));
}

void empty_after_allocations(const EmptyCaches& edit, EditedRun& run, EditReport& report) {
  const std::size_t older = run.older_events;
  std::size_t read = 0;
  std::uint64_t allocations = 0;
  rewrite(run, [&](const Event& event, ChunkedVector<Event>& written) {
    written.push_back(event);
    if (read++ >= older && event.kind == EventKind::alloc && ++allocations % edit.every == 0) {
      push_empty_cache(written, report);
    }
  });
}

}  // namespace

EditReport apply(const Preallocate& edit, EditedRun& run) {
  EditReport report{.done = {}, .blocks = 1, .changed = 1, .bytes = edit.bytes};
  const StreamId stream = stream_called(run.trace, edit.stream);
  const AllocationId id = new_allocation(run.trace);
  const bool has_older = run.older_events != 0;
  put_first({{.value = edit.bytes.count(), .allocation = id, .stream = stream},
             {.allocation = id, .kind = EventKind::free}},
            run);
  report.done = fmt::format("{} asked for and given back at the start", to_iec(edit.bytes));
  report.assumed.push_back(
      fmt::format("the block is asked for on stream {} before the first request and given back at "
                  "once; requests of other streams and of private pools cannot use it",
                  edit.stream));
  if (has_older) {
    report.unknown.emplace_back(
        "what the program did before the recording began: the block comes before the older "
        "blocks, which are allocated in address order");
  }
  return report;
}

EditReport apply(const EmptyCaches& edit, EditedRun& run) {
  EditReport report;
  if (edit.unit == EmptyCaches::Unit::steps) {
    empty_at_step_ends(edit, run, report);
  } else {
    empty_after_allocations(edit, run, report);
  }
  report.done = fmt::format("{} calls of empty_cache added", report.changed);
  report.unknown.emplace_back(
      "time: empty_cache waits for the device, and memory is asked of it anew afterwards");
  return report;
}

}  // namespace highwater
