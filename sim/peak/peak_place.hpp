// Where in a run its peaks lie: the step and the phase of the moment at which a figure was highest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/peak/moments.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

struct PeakPlace {
  std::optional<std::uint64_t> step;
  std::string phase;  ///< the marker's, else as in phase_names.hpp

  bool operator==(const PeakPlace&) const = default;
};

/// The place of a moment of a replay of `trace`.
PeakPlace place_of(const Moment& moment, const RequestTrace& trace);

/// Whether the phases of `trace` are known: in recordings they are not.
bool tells_phases(const RequestTrace& trace);

/// Observes a replay for its moments.
class MomentObserver : public ReplayObserver {
 public:
  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override;

  void on_event(const Event& event, AllocationStatus status, const Statistics& statistics) override;

  /// The highest, or the first failure.
  [[nodiscard]] std::optional<Moment> find(MomentKind kind) const { return moments_.find(kind); }

 private:
  const TraceDriver* driver_ = nullptr;
  MomentFinder moments_;
};

}  // namespace highwater
