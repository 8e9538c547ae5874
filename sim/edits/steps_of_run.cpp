#include "sim/edits/steps_of_run.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sim/edits/rewriting.hpp"
#include "traces/error.hpp"

namespace highwater {

namespace {

/// What a request is about: allocation or free of a block of a site, or of a size where the site is
/// not known (the autograd engine's threads).
struct RequestLikeness {
  EventKind kind = EventKind::alloc;
  StackId site;
  std::uint64_t bytes = 0;

  bool operator==(const RequestLikeness&) const = default;
};

/// By AllocationId. Frees have no site of their own in most recordings.
std::vector<RequestLikeness> allocation_likeness(const RequestTrace& trace) {
  std::vector<RequestLikeness> blocks(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      blocks[event.allocation.index()] = {event.kind, event.stack,
                                          event.stack.has_value() ? 0 : event.value};
    }
  }
  return blocks;
}

/// Ends the last step with the request like that which ended the step before it, unless the run
/// stopped well before that.
class LastStepEnd {
 public:
  explicit LastStepEnd(const RequestTrace& trace)
      : trace_(&trace), blocks_(allocation_likeness(trace)) {}

  void apply(const StepSpan& before, StepSpan& last) const {
    const auto model = last_of(before, std::nullopt);
    const auto end = model ? last_of(last, likeness(*model)) : std::nullopt;
    if (end && (*end - last.begin) * 10 >= (*model - before.begin) * 9) {
      last.end = *end + 1;
      last.complete = true;
    }
  }

 private:
  [[nodiscard]] RequestLikeness likeness(std::size_t i) const {
    RequestLikeness likeness = blocks_[trace_->events[i].allocation.index()];
    likeness.kind = trace_->events[i].kind;
    return likeness;
  }

  [[nodiscard]] std::optional<std::size_t> last_of(
      const StepSpan& step, const std::optional<RequestLikeness>& like) const {
    for (std::size_t i = step.end; i-- > step.begin;) {
      if (is_request(trace_->events[i]) && (!like || likeness(i) == *like)) {
        return i;
      }
    }
    return std::nullopt;
  }

  const RequestTrace* trace_;
  std::vector<RequestLikeness> blocks_;
};

}  // namespace

Steps steps_of_run(const EditedRun& run) {
  Steps steps = find_steps(run.trace);
  std::erase_if(steps.steps, [&](const StepSpan& step) { return step.begin < run.older_events; });
  if (steps.steps.size() >= 2 && steps.steps.back().end == run.trace.events.size()) {
    LastStepEnd(run.trace).apply(steps.steps[steps.steps.size() - 2], steps.steps.back());
  }
  return steps;
}

std::string where_steps_begin(const Steps& steps) {
  if (steps.source == StepSource::markers || steps.source == StepSource::boundaries) {
    return "steps begin where the run marks them";
  }
  return fmt::format(
      "the run marks no steps: {} were found in its requests (by {}), {:.0f} % of which repeat",
      steps.steps.size(), to_string(steps.source), 100 * steps.confidence);
}

const StepSpan& step_called(const Steps& steps, std::uint64_t number) {
  const auto found = std::ranges::find(steps.steps, number, &StepSpan::number);
  if (found != steps.steps.end()) {
    return *found;
  }
  if (steps.steps.empty()) {
    throw UsageError("no steps were found in this run; its requests do not repeat");
  }
  throw UsageError(fmt::format("there is no step {}; the run has steps {} to {}", number,
                               steps.steps.front().number, steps.steps.back().number));
}

const StepSpan* step_beside(const Steps& steps, const StepSpan& step) {
  const auto next = std::ranges::find_if(steps.steps, [&](const StepSpan& other) {
    return other.begin == step.end && other.complete;
  });
  const auto found =
      next != steps.steps.end() ? next : std::ranges::find(steps.steps, step.begin, &StepSpan::end);
  return found == steps.steps.end() ? nullptr : &*found;
}

}  // namespace highwater
