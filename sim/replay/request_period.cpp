#include "sim/replay/request_period.hpp"

namespace highwater {
namespace {

/// Settings and pools are not part of what is compared between two periods.
bool changes_rules(EventKind kind) {
  return kind == EventKind::pool_begin || kind == EventKind::pool_end ||
         kind == EventKind::pool_release || kind == EventKind::set_settings;
}

bool names_allocation(EventKind kind) {
  return kind == EventKind::alloc || kind == EventKind::free || kind == EventKind::record_stream;
}

/// Whether `event` asks for what `earlier` asked for, `shift` allocations later. Markers ask for
/// nothing.
bool same_request(const Event& earlier, const Event& event, std::uint64_t shift) {
  if (!earlier.is_operation() || !event.is_operation()) {
    return earlier.is_operation() == event.is_operation();
  }
  const bool same_call =
      earlier.kind == event.kind && earlier.value == event.value && earlier.stream == event.stream;
  return same_call && (!names_allocation(event.kind) ||
                       earlier.allocation.index() + shift == event.allocation.index());
}

/// Notes the next allocation of `period`; false if it is not numbered in order.
bool take_allocation(AllocationId id, RequestPeriod& period) {
  if (period.allocations == 0) {
    period.first = id;
  }
  return id == period.later(period.first, 1) && ++period.allocations != 0;
}

}  // namespace

std::optional<RequestPeriod> period_of(const RequestTrace& trace, std::size_t begin,
                                       std::size_t length) {
  RequestPeriod period{.begin = begin, .length = length};
  for (std::size_t i = begin; i < period.end(); ++i) {
    const Event& event = trace.events[i];
    const bool in_order =
        event.kind != EventKind::alloc || take_allocation(event.allocation, period);
    if (changes_rules(event.kind) || !in_order) {
      return std::nullopt;
    }
    period.operations += event.is_operation() ? 1U : 0U;
    period.allocs += event.kind == EventKind::alloc ? 1U : 0U;
    period.frees += event.kind == EventKind::free ? 1U : 0U;
  }
  return period.allocations != 0 ? std::optional(period) : std::nullopt;
}

std::size_t events_repeated(const RequestTrace& trace, const RequestPeriod& period,
                            std::size_t end) {
  std::size_t count = 0;
  std::size_t at = period.end();
  for (std::uint64_t shift = period.allocations;; shift += period.allocations) {
    for (std::size_t i = period.begin; i < period.end(); ++i, ++at, ++count) {
      if (at >= end || !same_request(trace.events[i], trace.events[at], shift)) {
        return count;
      }
    }
  }
}

}  // namespace highwater
