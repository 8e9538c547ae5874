#include "sim/peak/peak_place.hpp"

#include "traces/phase_names.hpp"

namespace highwater {

PeakPlace place_of(const Moment& moment, const RequestTrace& trace) {
  const std::string_view phase = moment.phase.has_value() ? trace.tables.strings[moment.phase]
                                 : moment.step            ? kStepBegin
                                                          : kBeforeSteps;
  return {moment.step, std::string(phase)};
}

bool tells_phases(const RequestTrace& trace) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::phase) {
      return true;
    }
  }
  return false;
}

void MomentObserver::on_begin(const CachingAllocator& /*allocator*/, const TraceDriver& driver) {
  driver_ = &driver;
}

void MomentObserver::on_event(const Event& event, AllocationStatus status,
                              const Statistics& statistics) {
  moments_.follow(event, status, statistics, driver_->operations());
}

}  // namespace highwater
