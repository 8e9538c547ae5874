#include "tools/studies/scaling/scaled_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/scaling/more_steps.hpp"
#include "sim/scaling/scaled_requests.hpp"

namespace highwater {
namespace {

/// Peaks by step and phase, and where the highest allocated is.
class ScaledObserver : public ReplayObserver {
 public:
  explicit ScaledObserver(const RequestTrace& trace) : trace_(&trace), phases_(trace) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    moments_.on_begin(allocator, driver);
  }

  void on_event(const Event& event, AllocationStatus status,
                const Statistics& statistics) override {
    phases_.on_event(event, status, statistics);
    moments_.on_event(event, status, statistics);
  }

  void finish(ScaledRun& run) {
    run.peaks = phases_.finish();
    const auto peak = moments_.find(MomentKind::peak_allocated);
    run.place = peak ? std::optional(place_of(*peak, *trace_)) : std::nullopt;
  }

 private:
  const RequestTrace* trace_;
  PhasePeakTracker phases_;
  MomentObserver moments_;
};

ScaledRequests requests_of(const ScaledRequest& request, const Values& values,
                           EstimatedSizes sizes = EstimatedSizes::likely) {
  ScaledRequests requests = requests_at(*request.program, values, sizes);
  if (request.steps && *request.steps != count_steps(requests.trace)) {
    requests.trace = with_more_steps(requests.trace, *request.steps);
  }
  return requests;
}

/// A program ends where it runs out of memory.
ReplayOptions stopping_options(const DeviceReplay& replay, const RequestTrace& trace) {
  ReplayOptions options = options_of(replay, trace.header.addresses);
  options.after_oom = AfterOom::stop;
  return options;
}

Usage peak_with(const ScaledRequest& request, const ScaledRun& run, EstimatedSizes sizes) {
  const RequestTrace trace = requests_of(request, run.values, sizes).trace;
  return replay(trace, stopping_options(run.replay, trace)).peak;
}

ScaledRun simulate_at(const ScaledRequest& request, const Values& values) {
  ScaledRun run;
  run.file = request.file;
  run.program = request.program;
  run.values = values;
  run.extent = extent_of(*request.program, values);
  const ScaledRequests requests = requests_of(request, values);
  run.warnings = program_warnings(*request.program, values, requests);
  run.steps = count_steps(requests.trace);
  run.replay = replay_requests(requests.trace, request.file, {.memory = request.memory});
  ScaledObserver observer(requests.trace);
  ReplayOptions options = stopping_options(run.replay, requests.trace);
  options.observer = &observer;
  run.replay.result = replay(requests.trace, options);
  observer.finish(run);
  if (requests.estimated != 0 || requests.scratch.requests != 0) {
    run.range = PeakRange{peak_with(request, run, EstimatedSizes::smallest),
                          peak_with(request, run, EstimatedSizes::largest)};
  }
  return run;
}

NamedIntegers with_value(NamedIntegers values, const std::string& name, std::int64_t value) {
  values.emplace_back(name, static_cast<std::uint64_t>(value));
  return values;
}

ValueTrial trial_at(const ScaledRequest& request, std::int64_t value) {
  const Values values = values_for(
      *request.program, with_value(request.values, *request.largest, value), request.file);
  const RequestTrace trace = requests_of(request, values).trace;
  const DeviceReplay prepared = replay_requests(trace, request.file, {.memory = request.memory});
  const ReplayResult& result = prepared.result;
  return {value, result.counts.ooms == 0, result.peak.reserved};
}

}  // namespace

ScaledRun simulate_scaled(const ScaledRequest& request) {
  if (!request.largest) {
    return simulate_at(request, values_for(*request.program, request.values, request.file));
  }
  const ValueSearch search =
      find_value([&](std::int64_t value) { return trial_at(request, value); });
  ScaledRun run = simulate_at(
      request, values_for(*request.program,
                          with_value(request.values, *request.largest, search.best.value_or(1)),
                          request.file));
  run.searched = request.largest;
  run.search = search;
  return run;
}

}  // namespace highwater
