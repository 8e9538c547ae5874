#include "sim/steps/growth_tracker.hpp"

#include <algorithm>
#include <utility>

#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

}  // namespace

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

}  // namespace highwater
