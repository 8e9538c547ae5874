// Peaks of a replay by training step and by phase, and what the memory was used for at each peak.
//
// A step begins at its step marker and a phase at its phase marker; what comes before the first
// step belongs to no step. The breakdown is by the categories of the trace, in requested bytes, at
// the first moment of the highest allocated; what block sizes exceed the requests by is
// `rounding`, so that the parts sum to the peak.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/live_categories.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// One stretch of the run: the whole of it, a step, or a phase.
struct StretchPeak {
  Usage peak;             ///< each at its own moment, the state at the begin included
  CategoryBytes at_peak;  ///< at the first moment of peak.allocated
  Usage end;
  std::uint64_t operations = 0;
};

struct StepPeak : StretchPeak {
  std::uint64_t step = 0;
  bool complete = false;  ///< false: ran out of memory in it
};

struct PhasePeak : StretchPeak {
  std::optional<std::uint64_t> step;  ///< absent before the first step
  std::string phase;                  ///< the marker's, else as in phase_names.hpp
};

struct PhasePeaks {
  StretchPeak run;
  std::vector<StepPeak> steps;
  std::vector<PhasePeak> phases;  ///< in order; a phase comes once per micro-batch
  bool out_of_memory = false;
};

/// Collects them as the observer of a replay of `trace`.
class PhasePeakTracker : public ReplayObserver {
 public:
  /// `trace` must outlive the tracker.
  explicit PhasePeakTracker(const RequestTrace& trace);

  void on_event(const Event& event, AllocationStatus status, const Statistics& statistics) override;

  /// Once, after the replay.
  [[nodiscard]] PhasePeaks finish();

 private:
  void begin_step(std::uint64_t step);
  void begin_phase(std::string_view name);
  void end_phase();
  void raise(StretchPeak& stretch) const;
  [[nodiscard]] StretchPeak here() const;

  const RequestTrace* trace_;
  LiveCategories live_;
  Usage now_;
  Bytes reserved_high_;  ///< the most reserved during the last operation, which may map and unmap
  Bytes counted_peak_;   ///< the statistics' peak of reserved so far
  PhasePeaks peaks_;
  bool is_explicit_ = false;  ///< the current phase has a marker of its own
};

/// Replays `trace` and returns its peaks; stops at the first failed allocation.
struct PhasedReplay {
  ReplayResult result;
  PhasePeaks peaks;
};

PhasedReplay replay_with_phases(const RequestTrace& trace, ReplayOptions options);

}  // namespace highwater
