#include "sim/replay/phase_peaks.hpp"

#include <algorithm>
#include <utility>

#include "sim/replay/usage_tracker.hpp"
#include "traces/phase_names.hpp"

namespace highwater {
namespace {

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

}  // namespace

PhasePeakTracker::PhasePeakTracker(const RequestTrace& trace)
    : trace_(&trace), live_(trace.allocation_count) {
  peaks_.phases.push_back({here(), std::nullopt, std::string(kBeforeSteps)});
}

void PhasePeakTracker::on_event(const Event& event, AllocationStatus status,
                                const Statistics& statistics) {
  if (event.kind == EventKind::step) {
    begin_step(event.value);
  } else if (event.kind == EventKind::phase) {
    begin_phase(trace_->tables.strings[event.text()]);
  }
  if (!event.is_operation()) {
    return;
  }
  peaks_.out_of_memory |= status == AllocationStatus::out_of_memory;
  live_.follow(event, status);
  now_ = usage_of(statistics);
  const Bytes peak{static_cast<std::uint64_t>(statistics.all(Stat::reserved_bytes).peak)};
  reserved_high_ = peak > counted_peak_ ? peak : now_.reserved;
  counted_peak_ = peak;
  raise(peaks_.run);
  raise(peaks_.phases.back());
  if (!peaks_.steps.empty()) {
    raise(peaks_.steps.back());
  }
}

StretchPeak PhasePeakTracker::here() const {
  return {now_, live_.breakdown(now_.allocated), now_};
}

void PhasePeakTracker::raise(StretchPeak& stretch) const {
  if (now_.allocated > stretch.peak.allocated) {
    stretch.at_peak = live_.breakdown(now_.allocated);
  }
  stretch.peak = higher(stretch.peak, now_);
  stretch.peak.reserved = std::max(stretch.peak.reserved, reserved_high_);
  stretch.end = now_;
  ++stretch.operations;
}

void PhasePeakTracker::begin_step(std::uint64_t step) {
  if (!peaks_.steps.empty()) {
    peaks_.steps.back().complete = !peaks_.out_of_memory;
  }
  end_phase();
  peaks_.steps.push_back({here(), step});
  peaks_.phases.push_back({here(), step, std::string(kStepBegin)});
  is_explicit_ = false;
}

void PhasePeakTracker::begin_phase(std::string_view name) {
  end_phase();
  const std::optional<std::uint64_t> step =
      peaks_.steps.empty() ? std::nullopt : std::optional(peaks_.steps.back().step);
  peaks_.phases.push_back({here(), step, std::string(name)});
  is_explicit_ = true;
}

/// A stretch without a marker of its own counts only if something happened in it.
void PhasePeakTracker::end_phase() {
  if (!is_explicit_ && peaks_.phases.back().operations == 0) {
    peaks_.phases.pop_back();
  }
}

PhasePeaks PhasePeakTracker::finish() {
  end_phase();
  if (!peaks_.steps.empty()) {
    peaks_.steps.back().complete = !peaks_.out_of_memory;
  }
  return std::move(peaks_);
}

PhasedReplay replay_with_phases(const RequestTrace& trace, ReplayOptions options) {
  PhasePeakTracker tracker(trace);
  options.observer = &tracker;
  options.after_oom = AfterOom::stop;
  PhasedReplay replayed;
  replayed.result = replay(trace, options);
  replayed.peaks = tracker.finish();
  return replayed;
}

}  // namespace highwater
