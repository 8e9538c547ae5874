// A recorded training case, X.json beside X.pickle.xz: the plan behind it and the allocator's
// statistics at each phase boundary.
//
// The plan stands under `options` of `case`, in option words. A case whose plan cannot be
// expressed, or whose recording is not ground truth, carries the reason instead; only damaged files
// are errors. Markers are placed at the end of the phase they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/units.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/case_status.hpp"

namespace highwater {

/// Four of torch.cuda.memory_stats' figures.
struct RecordedUsage {
  Bytes requested;
  Bytes allocated;
  Bytes active;
  Bytes reserved;

  bool operator==(const RecordedUsage&) const = default;
};

/// A phase boundary.
struct RecordedMarker {
  std::string phase;
  std::optional<std::uint64_t> step;
  std::optional<std::uint64_t> micro;
  std::optional<std::uint64_t> trace_index;  ///< entries of the trace before it
  RecordedUsage current;
  RecordedUsage peak;  ///< since the last step_begin
  std::optional<Bytes>
      device_used;  ///< of the whole device, by all processes, as its driver counts
};

/// Entries of the trace from `begin` to the next phase's, named as generated traces name phases:
/// init, zero_grad, data, forward, backward, clip, optimizer, empty_cache, step_end.
struct RecordedPhase {
  std::uint64_t begin = 0;
  std::optional<std::uint64_t> step;
  std::string phase;

  bool operator==(const RecordedPhase&) const = default;
};

/// The peaks of one completed step.
struct RecordedStep {
  std::uint64_t step = 0;
  RecordedUsage peak;
  std::optional<Bytes> outside;  ///< used on the device but not reserved, at the end of the step
};

struct RecordedGpu {
  std::string name;
  Bytes total_memory;
  int major = 0;
  int minor = 0;
};

struct RecordedCase {
  std::string id;
  CaseStatus status = CaseStatus::ok;
  std::string error;         ///< the recorded program's message, if it failed
  std::string torch;         ///< "2.6"
  std::string transformers;  ///< "5.12"
  std::string deepspeed;     ///< "0.16"; empty without it
  std::string alloc_conf;    ///< PYTORCH_CUDA_ALLOC_CONF
  RecordedGpu gpu;
  bool is_simulated_device = false;       ///< its driver's figures are invented
  std::optional<double> memory_fraction;  ///< set_per_process_memory_fraction
  std::vector<std::int64_t> sequence_lengths;
  std::vector<RecordedMarker> markers;
  std::vector<RecordedStep> steps;        ///< completed ones
  std::optional<std::uint64_t> oom_step;  ///< of status out_of_memory; absent: before step 0
  std::optional<TrainingPlan> plan;
  std::string unsupported_reason;  ///< why there is no plan, one sentence
};

/// @throws InputError naming the field that is missing or of the wrong kind.
RecordedCase read_recorded_case(std::string_view json, const std::string& source);

/// The phases of the recording, in order; phases without a position are left out.
std::vector<RecordedPhase> recorded_phases(const RecordedCase& recorded);

}  // namespace highwater
