#include "sim/replay/replay.hpp"

#include "sim/replay/fast_forward.hpp"
#include "sim/replay/free_replay.hpp"
#include "sim/replay/usage_tracker.hpp"
#include "traces/cancellation.hpp"

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
         options.listener == nullptr && options.decisions == DecisionDetail::none &&
         options.beside == nullptr;
}

/// Carries out one event after the other; the tracker and the result follow.
void run_events(const RequestTrace& trace, const ReplayOptions& options, FreeReplay& run,
                UsageTracker& tracker, ReplayResult& result) {
  std::optional<FastForward> fast_forward;
  if (may_count_repeated(options)) {
    fast_forward.emplace(trace, run.end, run.allocator, run.driver, tracker, result);
  }
  for (std::size_t i = 0; i < run.end; ++i) {
    i = fast_forward ? fast_forward->before(i) : i;
    if (i >= run.end) {
      return;
    }
    stop_if_cancelled_at(i);
    const Event& event = trace.events[i];
    if (event.kind == EventKind::reset_peaks) {
      tracker.before_reset();
    }
    run.before(i);
    const AllocationStatus status = run.driver.apply(event);
    if (event.is_operation()) {
      tracker.observe();
      count(event, status, run.allocator, run.driver, result);
    }
    if (options.observer != nullptr) {
      options.observer->on_event(event, status, run.allocator.statistics());
    }
    if (status == AllocationStatus::out_of_memory && options.after_oom == AfterOom::stop) {
      return;
    }
  }
}

}  // namespace

ReplayResult replay(const RequestTrace& trace, const ReplayOptions& options) {
  FreeReplay run(trace, options);
  DecisionLog log(run.driver, options.listener);
  run.allocator.set_listener(options.decisions == DecisionDetail::keep ? &log : options.listener);
  UsageTracker tracker(run.allocator);
  if (options.observer != nullptr) {
    options.observer->on_begin(run.allocator, run.driver);
  }
  ReplayResult result;
  run_events(trace, options, run, tracker, result);
  result.decisions = log.take();
  result.operations = run.driver.operations();
  result.refused_empty_caches = run.driver.refused_empty_caches();
  summarise(run.allocator, tracker, result);
  if (run.beside != nullptr) {
    result.beside = run.beside->finish();
  }
  return result;
}

ReplayBar bar_of(const ReplayResult& result) {
  return {result.peak.reserved, result.peak.active, !result.ooms.empty()};
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
  result.fragmentation = measure_fragmentation(result.map);
  result.fragmentation.peak = unused_share(result.peak.active, result.peak.reserved);
  result.fragmentation.at_peak_reserved =
      unused_share(result.at_peak_reserved.active, result.at_peak_reserved.reserved);
}

}  // namespace highwater
