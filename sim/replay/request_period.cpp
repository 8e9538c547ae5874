#include "sim/replay/request_period.hpp"

#include <algorithm>

namespace highwater {
namespace {

/// Settings and pools are not part of what is compared between two periods.
bool changes_rules(EventKind kind) {
  return kind == EventKind::pool_begin || kind == EventKind::pool_end ||
         kind == EventKind::pool_retire || kind == EventKind::pool_release ||
         kind == EventKind::set_settings || kind == EventKind::memory_limit;
}

bool same_allocation(AllocationId earlier, AllocationId id, std::uint32_t shift) {
  return earlier.has_value() ? earlier.value() + shift == id.value() : !id.has_value();
}

/// Whether `event` asks for what `earlier` asked for, `shift` allocations later. Markers ask for
/// nothing.
bool same_request(const Event& earlier, const Event& event, std::uint32_t shift) {
  if (earlier.value == event.value && earlier.kind == event.kind &&
      earlier.stream == event.stream) {
    return same_allocation(earlier.allocation, event.allocation, shift);
  }
  return !earlier.is_operation() && !event.is_operation();
}

/// How many of the first `length` requests are the same.
std::size_t equal_events(const Event* earlier, const Event* events, std::size_t length,
                         std::uint32_t shift) {
  std::size_t i = 0;
  while (i < length && same_request(earlier[i], events[i], shift)) {
    ++i;
  }
  return i;
}

/// How many events from `i` on lie one behind the other in memory.
std::size_t rest_of_chunk(std::size_t i) {
  using Events = decltype(RequestTrace::events);
  return Events::kChunk - i % Events::kChunk;
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
  RequestPeriod period;
  period.begin = begin;
  period.length = length;
  for (std::size_t i = begin; i < period.end(); ++i) {
    const Event& event = trace.events[i];
    const bool in_order =
        event.kind != EventKind::alloc || take_allocation(event.allocation, period);
    if (changes_rules(event.kind) || !in_order) {
      return std::nullopt;
    }
    period.operations += event.is_operation() ? 1U : 0U;
    period.frees += event.kind == EventKind::free ? 1U : 0U;
  }
  return period.allocations != 0 ? std::optional(period) : std::nullopt;
}

std::size_t events_repeated(const RequestTrace& trace, Stretch stretch, std::size_t end) {
  std::size_t at = stretch.end();
  for (std::uint32_t shift = stretch.allocations;; shift += stretch.allocations) {
    for (std::size_t i = stretch.begin; i < stretch.end();) {
      const std::size_t length =
          std::min({stretch.end() - i, end - at, rest_of_chunk(i), rest_of_chunk(at)});
      const std::size_t same = equal_events(&trace.events[i], &trace.events[at], length, shift);
      i += same;
      at += same;
      if (same < length || at == end) {
        return at - stretch.end();
      }
    }
  }
}

}  // namespace highwater
