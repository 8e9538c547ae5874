#include "sim/scaling/more_steps.hpp"

#include <string>
#include <utility>
#include <vector>

#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<std::size_t> step_begins(const RequestTrace& trace) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::step) {
      begins.push_back(i);
    }
  }
  return begins;
}

[[noreturn]] void fail(const std::string& problem) {
  throw UsageError("--steps: " + problem +
                   "; omit --steps, or fit recordings of more steps (highwater record --steps 5)");
}

/// Writes a trace whose second but last step comes several times.
class StepRepeater {
 public:
  StepRepeater(const RequestTrace& trace, const std::vector<std::size_t>& begins)
      : trace_(trace),
        repeated_(begins[begins.size() - 2]),
        last_(begins.back()),
        made_by_repeated_(trace.allocation_count) {
    for (std::size_t i = repeated_; i < last_; ++i) {
      if (trace.events[i].kind == EventKind::alloc) {
        made_by_repeated_[trace.events[i].allocation.index()] = true;
      }
    }
    result_ = without_events(trace);
    result_.allocation_names.clear();
    for (std::uint32_t id = 0; id < trace.allocation_count; ++id) {
      now_.emplace_back(id);
    }
    before_ = now_;
  }

  RequestTrace run(std::uint64_t more) {
    add(0, last_);
    for (std::uint64_t i = 0; i < more; ++i) {
      repeat();
    }
    for (std::size_t i = last_; i < trace_.events.size(); ++i) {
      Event event = trace_.events[i];
      rename(event);
      event.value += event.kind == EventKind::step ? more : 0;
      result_.events.push_back(event);
    }
    return std::move(result_);
  }

 private:
  void add(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      result_.events.push_back(trace_.events[i]);
    }
  }

  void rename(Event& event) const {
    if (event.allocation.has_value()) {
      event.allocation = now_[event.allocation.index()];
    }
  }

  void repeat() {
    before_ = now_;
    ++repetition_;
    for (std::size_t i = repeated_; i < last_; ++i) {
      Event event = trace_.events[i];
      if (event.kind == EventKind::step) {
        event.value += repetition_;
      } else if (event.kind == EventKind::alloc) {
        now_[event.allocation.index()] = AllocationId{result_.allocation_count++};
        rename(event);
      } else if (event.allocation.has_value()) {
        event.allocation = made_by_repeated_[event.allocation.index()]
                               ? now_[event.allocation.index()]
                               : older(i, event.allocation);
      }
      result_.events.push_back(event);
    }
  }

  /// What the last step names at the same place, which the step before it has made.
  [[nodiscard]] AllocationId older(std::size_t event, AllocationId freed) const {
    const std::size_t later = last_ + (event - repeated_);
    const bool exists = later < trace_.events.size();
    const Event& other = trace_.events[exists ? later : event];
    if (!exists || other.kind != trace_.events[event].kind || !other.allocation.has_value() ||
        !made_by_repeated_[other.allocation.index()]) {
      fail("the last two steps of the recording differ (allocation " +
           std::to_string(freed.index()) + " is not freed again)");
    }
    return before_[other.allocation.index()];
  }

  const RequestTrace& trace_;
  std::size_t repeated_;
  std::size_t last_;
  std::vector<bool> made_by_repeated_;  ///< by AllocationId
  std::vector<AllocationId> now_;       ///< by AllocationId: its name in the latest repetition
  std::vector<AllocationId> before_;    ///< in the one before
  std::uint64_t repetition_ = 0;
  RequestTrace result_;
};

}  // namespace

std::uint64_t count_steps(const RequestTrace& trace) {
  return step_begins(trace).size();
}

RequestTrace with_more_steps(const RequestTrace& trace, std::uint64_t steps) {
  const std::vector<std::size_t> begins = step_begins(trace);
  if (begins.size() < 3) {
    fail("a step can be repeated where three are recorded, and here are " +
         std::to_string(begins.size()));
  }
  if (steps <= begins.size()) {
    fail("the recordings have " + std::to_string(begins.size()) + " steps already");
  }
  return StepRepeater(trace, begins).run(steps - begins.size());
}

}  // namespace highwater
