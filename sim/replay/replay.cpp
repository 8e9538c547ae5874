#include "sim/replay/replay.hpp"

#include <algorithm>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/fast_forward.hpp"
#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

void count(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
           const TraceDriver& driver, ReplayResult& result) {
  result.counts.allocs += event.kind == EventKind::alloc ? 1U : 0U;
  result.counts.frees += event.kind == EventKind::free ? 1U : 0U;
  if (status == AllocationStatus::out_of_memory &&
      result.ooms.size() < ReplayResult::kMaxOomRecords) {
    result.ooms.push_back({driver.operations() - 1, allocator.last_out_of_memory()});
  }
}

/// Nobody sees single events or decisions.
bool may_count_repeated(const ReplayOptions& options) {
  return options.repeated_steps == RepeatedSteps::counted && options.observer == nullptr &&
         options.listener == nullptr && options.decisions == DecisionDetail::none;
}

std::size_t end_of(const RequestTrace& trace, const ReplayOptions& options) {
  const std::size_t size = trace.events.size();
  return options.last_event ? std::min(size, *options.last_event + 1) : size;
}

}  // namespace

ReplayResult replay(const RequestTrace& trace, const ReplayOptions& options) {
  SimulatedDevice device({options.capacity, options.addresses});
  CachingAllocator allocator(device, options.settings, *options.version);
  if (options.fraction) {
    allocator.set_memory_fraction(*options.fraction);
  }
  if (options.memory_limit) {
    allocator.set_memory_limit(*options.memory_limit);
  }
  TraceDriver driver(trace, allocator);
  DecisionLog log(driver, options.listener);
  allocator.set_listener(options.decisions == DecisionDetail::keep ? &log : options.listener);
  UsageTracker tracker(allocator);
  ReplayResult result;
  const std::size_t end = end_of(trace, options);
  std::optional<FastForward> fast_forward;
  if (may_count_repeated(options)) {
    fast_forward.emplace(trace, end, allocator, driver, tracker, result);
  }
  if (options.observer != nullptr) {
    options.observer->on_begin(allocator, driver);
  }
  for (std::size_t i = 0; i < end; ++i) {
    if (fast_forward) {
      i = fast_forward->before(i);
      if (i >= end) {
        break;
      }
    }
    const Event& event = trace.events[i];
    if (event.kind == EventKind::reset_peaks) {
      tracker.before_reset();
    }
    const AllocationStatus status = driver.apply(event);
    if (event.is_operation()) {
      tracker.observe();
      count(event, status, allocator, driver, result);
    }
    if (options.observer != nullptr) {
      options.observer->on_event(event, status, allocator.statistics());
    }
    if (status == AllocationStatus::out_of_memory && options.after_oom == AfterOom::stop) {
      break;
    }
  }
  result.decisions = log.take();
  result.operations = driver.operations();
  result.refused_empty_caches = driver.refused_empty_caches();
  summarise(allocator, tracker, result);
  return result;
}

void summarise(const CachingAllocator& allocator, UsageTracker& tracker, ReplayResult& result) {
  tracker.finish(result);
  result.statistics = allocator.statistics();
  const Counters& counters = result.statistics.counters;
  const auto as_count = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  result.counts.device_alloc = as_count(counters.num_device_alloc);
  result.counts.device_free = as_count(counters.num_device_free);
  result.counts.segment_map = as_count(counters.segment_map);
  result.counts.segment_unmap = as_count(counters.segment_unmap);
  result.counts.alloc_retries = as_count(counters.num_alloc_retries);
  result.counts.ooms = as_count(counters.num_ooms);
  result.map = allocator.memory_map();
  result.fragmentation = measure_fragmentation(result.map);
  result.fragmentation.peak = unused_share(result.peak.active, result.peak.reserved);
  result.fragmentation.at_peak_reserved =
      unused_share(result.at_peak_reserved.active, result.at_peak_reserved.reserved);
}

}  // namespace highwater
