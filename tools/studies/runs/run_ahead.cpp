#include "tools/studies/runs/run_ahead.hpp"

#include <array>

#include "tools/studies/runs/simulate_run.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// The last one is the most: the driver's queue of a stream takes about 1,000 launches before the
/// host has to wait (measured, forums.developer.nvidia.com/t/68937). The peak does not always grow
/// with the lag, since other blocks are free when one is looked for.
constexpr std::array kLags{100, 300, 1000};

constexpr double kLeastGrowth = 1.01;

bool is_clearly_above(Bytes peak, Bytes told) {
  return static_cast<double>(peak.count()) >= kLeastGrowth * static_cast<double>(told.count());
}

bool keeps_up(const PlannedRun& run) {
  return run.plan.parallel.event_lag == 0 && run.plan.parallel.event_queries == 0 &&
         find_word(run.words, "event-lag") == nullptr;
}

bool shares_blocks(const RequestTrace& trace) {
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::record_stream) {
      return true;
    }
  }
  return false;
}

std::optional<LateRun> run_with(int lag, PlannedRun run, const MemoryRequest& memory) {
  run.plan.parallel.event_lag = lag;
  try {
    const PlanPeaks peaks = simulate_peaks(run, memory);
    return LateRun{lag, peaks.peak, peaks.available ? std::optional(peaks.fits) : std::nullopt};
  } catch (const InputError&) {  // PyTorch could not carry it out; the answer stands without it
    return std::nullopt;
  }
}

}  // namespace

std::optional<LateRun> with_late_gpu(const PlannedRun& run, const MemoryRequest& memory,
                                     const RequestTrace& trace, const Usage& told) {
  const bool is_slow = run.plan.engine == EngineKind::torch;  // seconds for each
  if (run.recording != nullptr || is_slow || !keeps_up(run) || !shares_blocks(trace)) {
    return std::nullopt;
  }
  std::optional<LateRun> worst;
  for (const int lag : kLags) {
    const std::optional<LateRun> late = run_with(lag, run, memory);
    if (late && (!worst || late->peak.reserved > worst->peak.reserved)) {
      worst = late;
    }
  }
  const bool is_shown = worst && (is_clearly_above(worst->peak.reserved, told.reserved) ||
                                  is_clearly_above(worst->peak.allocated, told.allocated));
  return is_shown ? worst : std::nullopt;
}

}  // namespace highwater
