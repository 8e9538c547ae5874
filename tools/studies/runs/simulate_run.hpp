// Simulates a plan: generates its requests, replays them on the GPU's memory, and finds what the
// report needs: where the peak is, who holds it, where memory ran out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/peak/holders.hpp"
#include "sim/peak/moments.hpp"
#include "sim/peak/peak_place.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "tools/studies/runs/left_out.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/process_breakdown.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/text/site.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {

/// Live requested bytes that one operator asked for in one place of the model; the same place of
/// all layers is one holder ("layers.*").
using SiteHolder = Holder<Site>;

struct Simulation {
  TrainingPlan plan;
  std::vector<LeftOutKey> left_out;                 ///< as PlannedRun has it
  std::vector<std::string> releases;                ///< as PlannedRun has them
  std::shared_ptr<const RecordingCheck> recording;  ///< as PlannedRun has it
  std::shared_ptr<const RequestTrace> trace;
  DeviceReplay replay;
  PhasePeaks peaks;
  Moment at_peak;  ///< first moment of the highest allocated
  PeakPlace peak_place;
  std::vector<SiteHolder> holders;  ///< at that moment, largest first
  ProcessBreakdown parts;           ///< at that moment, with all that is outside of tensors
  std::optional<Moment> failure;    ///< where memory ran out
  PeakPlace failure_place;
  Site failure_site;
  /// Where memory ran out: the peaks that the run would have come to with unlimited memory, ...
  std::optional<Usage> without_limit;
  /// ... and the least memory for the allocator with which it runs to its end;
  /// simulate_requests() leaves it out.
  std::optional<Bytes> needed;
  OutsideMemory outside;
  HostPeaks host;                  ///< of the model as it is made, and of what is offloaded
  std::optional<Bytes> available;  ///< what the allocator could take; absent: unlimited
  std::optional<BucketUse> buckets;
  bool is_gpu_named = false;
  std::int64_t trainable = 0;  ///< elements that the plan trains; simulate_requests() leaves it out

  [[nodiscard]] bool fits() const { return !failure; }

  /// Of what the plan lacks, the keys that could turn fits() around: with any, the answer is not
  /// known.
  [[nodiscard]] std::vector<LeftOutKey> undecided() const;

  /// Elements of the model's parameters; of a model without a family of those that are trained.
  [[nodiscard]] std::int64_t parameters() const;

  /// Of unlimited memory.
  [[nodiscard]] const Usage& whole_peak() const {
    return without_limit ? *without_limit : replay.result.peak;
  }

  /// Highest values over all steps but the first; absent when there are none.
  [[nodiscard]] std::optional<Usage> steady_peak() const;
};

FitOutcome outcome_of(const Simulation& simulation);

/// The options under which `simulation` was replayed.
ReplayOptions replay_options(const Simulation& simulation);

/// @throws UsageError for wrong settings
Simulation simulate(const PlannedRun& run, const MemoryRequest& memory);

/// What is known before the requests are made: settings and limits. @throws UsageError
Simulation before_requests(const PlannedRun& run, const MemoryRequest& memory);

/// The same as simulate() without the details of the peak and of a failure (holders, parts, what it
/// needs), for whoever replays the requests under many settings.
Simulation simulate_requests(const PlannedRun& run, const MemoryRequest& memory);

/// The requests of a plan with rounds that repeat written once (of torch's engine all of them);
/// nothing if blocks that are live at once hold more than `most_live`.
/// `shown` is of the plan's other ranks.
std::optional<CompactTrace> compact_requests(const TrainingPlan& plan, Bytes most_live,
                                             ShownShapes& shown);

/// The peaks of a plan alone.
struct PlanPeaks {
  Usage peak;             ///< up to where memory ran out
  CategoryBytes at_peak;  ///< when most was allocated
  bool fits = true;
  Bytes reserved_without_limit;    ///< the peak of reserved, had memory been unlimited
  std::optional<Bytes> available;  ///< to the allocator; absent: unlimited
};

/// Those that simulate() finds, in a fraction of the time. @throws UsageError for wrong settings
PlanPeaks simulate_peaks(const PlannedRun& run, const MemoryRequest& memory);

/// Known GPUs on which the plan runs: simulated with each one's kernels and memory, three steps at
/// most; by torch, the requests of `simulation` with each one's memory. Smallest memory first.
std::vector<const Gpu*> gpus_that_hold(const Simulation& simulation);

}  // namespace highwater
