#include "sim/steps/memory_growth.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

constexpr std::size_t kFewestForLeak = 3;
constexpr std::size_t kFewestForPeaks = 5;
constexpr double kMaterial = 0.05;

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

/// The usage of each step, the highest allocated before its end, and the frees that wait.
class GrowthTracker : public ReplayObserver, public DecisionListener {
 public:
  GrowthTracker(const RequestTrace& trace, const std::vector<StepSpan>& spans)
      : spans_(&spans), allocations_(trace.allocation_count) {}

  void on_decision(const Decision& decision) override;
  void on_event(const Event& event, AllocationStatus status, const Statistics& statistics) override;

  [[nodiscard]] std::vector<PendingFree> pending() const;

  /// By step: reserved at its end less the highest allocated of the run so far.
  [[nodiscard]] const std::vector<Bytes>& unexplained() const { return unexplained_; }

  std::vector<StepUsage> take_steps();

 private:
  void follow_free(const Event& event);
  void follow_step(AllocationStatus status, const Statistics& statistics);

  const std::vector<StepSpan>* spans_;
  std::vector<Event> allocations_;  ///< by AllocationId: the latest request
  std::vector<StepUsage> steps_;
  std::vector<Bytes> unexplained_;
  std::unordered_map<std::uint64_t, PendingFree> waiting_;  ///< by address
  std::optional<Address> requested_;  ///< freed by this operation and not completed so far
  Usage now_;
  Bytes highest_allocated_;
  std::int64_t retries_ = 0;         ///< of the whole run
  std::int64_t retries_before_ = 0;  ///< the same when the current step began
  std::size_t next_event_ = 0;
  std::uint64_t operations_ = 0;
  bool in_step_ = false;
};

void GrowthTracker::on_decision(const Decision& decision) {
  if (decision.action == RecordedAction::free_requested) {
    requested_ = decision.address;
  } else if (decision.action == RecordedAction::free_completed) {
    if (requested_ == decision.address) {
      requested_.reset();
    } else {
      waiting_.erase(decision.address.value());
    }
  }
}

void GrowthTracker::on_event(const Event& event, AllocationStatus status,
                             const Statistics& statistics) {
  if (event.kind == EventKind::alloc) {
    allocations_[event.allocation.index()] = event;
  } else if (event.kind == EventKind::free) {
    follow_free(event);
  }
  follow_step(status, statistics);
  operations_ += event.is_operation() ? 1U : 0U;
  ++next_event_;
}

void GrowthTracker::follow_free(const Event& event) {
  if (requested_) {
    const Event& made = allocations_[event.allocation.index()];
    waiting_[requested_->value()] = {event.allocation, made.stack,  made.stream,
                                     made.bytes(),     operations_, 0};
    requested_.reset();
  }
}

void GrowthTracker::follow_step(AllocationStatus status, const Statistics& statistics) {
  const std::size_t next = steps_.size();
  if (!in_step_ && next < spans_->size() && next_event_ == (*spans_)[next].begin) {
    in_step_ = true;
    steps_.push_back({.span = (*spans_)[next], .peak = now_, .end = now_});
    retries_before_ = retries_;
  }
  retries_ = statistics.counters.num_alloc_retries;
  now_ = usage_of(statistics);
  highest_allocated_ = std::max(highest_allocated_, now_.allocated);
  if (!in_step_) {
    return;
  }
  StepUsage& usage = steps_.back();
  usage.peak = higher(usage.peak, now_);
  usage.end = now_;
  usage.retries = static_cast<std::uint64_t>(retries_ - retries_before_);
  usage.ran_out = usage.ran_out || status == AllocationStatus::out_of_memory;
  if (next_event_ + 1 == usage.span.end) {
    in_step_ = false;
    unexplained_.push_back(now_.reserved - std::min(now_.reserved, highest_allocated_));
  }
}

std::vector<PendingFree> GrowthTracker::pending() const {
  std::vector<PendingFree> result;
  for (const auto& [address, free] : waiting_) {
    result.push_back(free);
    result.back().age = operations_ - free.operation - 1;
  }
  std::ranges::sort(result, {}, &PendingFree::operation);
  return result;
}

std::vector<StepUsage> GrowthTracker::take_steps() {
  if (in_step_) {  // the replay stopped in it
    steps_.back().span.complete = false;
    unexplained_.emplace_back();
  }
  for (StepUsage& usage : steps_) {
    usage.span.complete = usage.span.complete && !usage.ran_out;
  }
  return std::move(steps_);
}

/// Complete steps; without the first where it is known that the run begins with it.
std::vector<std::size_t> examined_steps(const std::vector<StepUsage>& steps, StepSource source) {
  const bool has_start_up = source == StepSource::markers || source == StepSource::boundaries;
  std::vector<std::size_t> examined;
  for (std::size_t i = has_start_up ? 1 : 0; i < steps.size(); ++i) {
    if (steps[i].span.complete) {
      examined.push_back(i);
    }
  }
  return examined;
}

/// The value at the last position of the line through `values` with the robust slope.
double line_end(const std::vector<Bytes>& values, const Growth& growth) {
  const double last = static_cast<double>(values.size()) - 1;
  std::vector<double> ends;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ends.push_back(static_cast<double>(values[i].count()) +
                   growth.per_step * (last - static_cast<double>(i)));
  }
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  return *middle;
}

/// One figure of the examined steps.
template <class Figure>
std::vector<Bytes> series(const MemoryGrowth& growth, Figure figure) {
  std::vector<Bytes> values;
  for (const std::size_t i : growth.examined) {
    values.push_back(figure(growth.steps[i]));
  }
  return values;
}

Bytes peak_reserved(const StepUsage& step) {
  return step.peak.reserved;
}

Bytes peak_allocated(const StepUsage& step) {
  return step.peak.allocated;
}

Bytes end_allocated(const StepUsage& step) {
  return step.end.allocated;
}

/// Grows, and over all these steps by a share of the last value that matters.
bool is_material(const Growth& growth, const std::vector<Bytes>& values) {
  const double steps = static_cast<double>(values.size()) - 1;
  return growth.grows() &&
         growth.per_step * steps >= kMaterial * static_cast<double>(values.back().count());
}

GrowthVerdict judge(const MemoryGrowth& growth) {
  if (growth.examined.size() < kFewestForLeak) {
    return GrowthVerdict::too_few_steps;
  }
  if (growth.end.grows() && !growth.leaks.empty()) {  // a chance trend leaves no blocks behind
    return GrowthVerdict::leak;
  }
  if (growth.examined.size() < kFewestForPeaks) {
    return GrowthVerdict::none;
  }
  if (is_material(growth.peak, series(growth, peak_allocated))) {
    return GrowthVerdict::larger_steps;
  }
  return is_material(growth.reserved, series(growth, peak_reserved)) && growth.unexplained.grows()
             ? GrowthVerdict::fragmentation
             : GrowthVerdict::none;
}

}  // namespace

std::string_view to_string(GrowthVerdict verdict) {
  switch (verdict) {
    case GrowthVerdict::none:
      return "none";
    case GrowthVerdict::leak:
      return "leak";
    case GrowthVerdict::larger_steps:
      return "larger steps";
    case GrowthVerdict::fragmentation:
      return "fragmentation";
    case GrowthVerdict::too_few_steps:
      break;
  }
  return "too few steps";
}

std::optional<Forecast> MemoryGrowth::forecast(Bytes limit) const {
  const bool has_trend = verdict != GrowthVerdict::none && verdict != GrowthVerdict::too_few_steps;
  const bool by_reserved = reserved.grows();
  if (!has_trend || (!by_reserved && !peak.grows())) {
    return std::nullopt;
  }
  const Growth& growth = by_reserved ? reserved : peak;
  const std::vector<Bytes> values =
      by_reserved ? series(*this, peak_reserved) : series(*this, peak_allocated);
  const double room = std::max(0.0, static_cast<double>(limit.count()) - line_end(values, growth));
  return Forecast{limit, room / growth.per_step, room / growth.high, room / growth.low};
}

MemoryGrowth measure_memory_growth(const RequestTrace& trace, const Steps& steps,
                                   ReplayOptions options) {
  GrowthTracker tracker(trace, steps.steps);
  options.observer = &tracker;
  options.listener = &tracker;
  options.decisions = DecisionDetail::none;
  replay(trace, options);
  MemoryGrowth growth;
  growth.steps = tracker.take_steps();
  growth.examined = examined_steps(growth.steps, steps.source);
  growth.reserved = robust_growth(series(growth, peak_reserved));
  growth.peak = robust_growth(series(growth, peak_allocated));
  growth.end = robust_growth(series(growth, end_allocated));
  std::vector<Bytes> unexplained;
  for (const std::size_t i : growth.examined) {
    unexplained.push_back(tracker.unexplained()[i]);
  }
  growth.unexplained = robust_growth(unexplained);
  std::vector<StepSpan> spans;
  for (const std::size_t i : growth.examined) {
    spans.push_back(growth.steps[i].span);
  }
  growth.leaks = find_leaks(trace, spans);
  growth.verdict = judge(growth);
  growth.pending = tracker.pending();
  for (const PendingFree& free : growth.pending) {
    growth.pending_bytes += free.size;
  }
  return growth;
}

}  // namespace highwater
