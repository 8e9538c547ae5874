#include "sim/replay/fast_forward.hpp"

#include <algorithm>
#include <utility>

namespace highwater {

FastForward::FastForward(const RequestTrace& trace, std::size_t end, CachingAllocator& allocator,
                         TraceDriver& driver, UsageTracker& tracker, ReplayResult& result)
    : trace_(&trace),
      end_(end),
      allocator_(&allocator),
      driver_(&driver),
      tracker_(&tracker),
      result_(&result) {}

/// The first sighting in kShortest events stays, so that loops do not hide the step around them.
void FastForward::consider(std::size_t next, std::uint64_t signature) {
  Sighting& sighting = sightings_[signature / kSampled % kRemembered];
  if (sighting.signature != signature) {
    sighting = {signature, next};
    return;
  }
  const std::size_t length = next - sighting.event;
  if (length >= kShortest) {
    sighting.event = next;
    if (next >= not_before_) {
      try_period(next, length * kMultiples[multiple_]);
    }
  }
}

/// The last `length` events before the event `end`; both this and the first of them allocate.
Stretch FastForward::stretch_before(std::size_t end, std::size_t length) const {
  const AllocationId first = trace_->events[end - length].allocation;
  const AllocationId next = trace_->events[end].allocation;
  return {end - length, length, next.value() - first.value()};
}

/// Watches the events from `begin` on if they are those of the last `length` events and come once
/// more. What is read in vain here is made up for by waiting.
void FastForward::try_period(std::size_t begin, std::size_t length) {
  if (length > begin) {
    multiple_ = 0;
    return;
  }
  const std::size_t wanted = 2 * length;
  const std::size_t found =
      events_repeated(*trace_, stretch_before(begin, length), std::min(end_, begin + wanted));
  const auto period = found < wanted ? std::nullopt : period_of(*trace_, begin, length);
  std::optional<StateImage> image = period ? allocator_->image() : std::nullopt;
  if (!image) {
    not_before_ = begin + found;
    multiple_ = 0;
    return;
  }
  watched_.emplace(Watched{});
  watched_->period = *period;
  watched_->image = std::move(*image);
  watched_->statistics = allocator_->statistics();
  watched_->last = curve_values(usage_of(allocator_->statistics()));
  watched_->ooms = result_->ooms.size();
}

std::size_t FastForward::watch(std::size_t next) {
  const RequestPeriod& period = watched_->period;
  if (next > period.begin) {
    note_usage(trace_->events[next - 1]);
  }
  if (next < period.end()) {
    note_reference(trace_->events[next]);
    return next;
  }
  if (has_come_back()) {
    failures_ = 0;
    multiple_ = 0;
    sightings_ = {};
    next = pass(events_repeated(*trace_, period, end_) / period.length);
  } else {
    ++failures_;
    multiple_ = failures_ % kMultiples.size();
    not_before_ = next + failures_ * kPatience * watched_->image.blocks.size();
  }
  watched_.reset();
  return next;
}

/// What the curves are after `event`.
void FastForward::note_usage(const Event& event) {
  if (!event.is_operation()) {
    return;
  }
  const CurveValues now = curve_values(usage_of(allocator_->statistics()));
  for (std::size_t c = 0; c < kCurveCount; ++c) {
    if (now[c] != watched_->last[c]) {
      watched_->changes[c].add({watched_->operations, now[c]});
    }
  }
  watched_->last = now;
  ++watched_->operations;
}

void FastForward::note_reference(const Event& event) {
  const bool refers = event.kind == EventKind::free || event.kind == EventKind::record_stream;
  if (refers && !watched_->period.requests(event.allocation)) {
    watched_->references.push_back(reference(event.allocation));
  }
}

FastForward::Reference FastForward::reference(AllocationId id) const {
  const BlockId block = driver_->handle(id);
  return {id, block.has_value() ? std::optional(allocator_->block(block).address) : std::nullopt};
}

/// The state is what it was, and whatever the period took over from before, it leaves behind again.
bool FastForward::has_come_back() const {
  const RequestPeriod& period = watched_->period;
  const auto is_left_behind = [&](const Reference& earlier) {
    const AllocationId id = period.later(earlier.id, 1);
    return period.requests(id) && reference(id).address == earlier.address;
  };
  return result_->ooms.size() == watched_->ooms &&
         std::ranges::all_of(watched_->references, is_left_behind) &&
         allocator_->image() == watched_->image;
}

/// Counts the watched period `times` more times; returns the event behind them.
std::size_t FastForward::pass(std::uint64_t times) {
  const RequestPeriod& period = watched_->period;
  allocator_->repeat(watched_->statistics, times);
  tracker_->repeat(watched_->changes, period.operations, times);
  driver_->count_repeated(period.operations * times);
  for (std::uint32_t i = 0; i < period.allocations; ++i) {
    const AllocationId id{period.first.value() + i};
    if (times > 0 && driver_->handle(id).has_value()) {
      driver_->pass_handle(id, period.later(id, times));
    }
  }
  result_->counts.allocs += period.allocations * times;
  result_->counts.frees += period.frees * times;
  result_->operations_repeated += period.operations * times;
  return period.end() + period.length * times;
}

}  // namespace highwater
