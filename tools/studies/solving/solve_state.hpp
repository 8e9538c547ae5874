// A plan as far as it is solved: its options in words, and the memory that it has.
//
// Whether such a plan fits is what `simulate` would say of it: every representative rank, all steps
// and micro-batches (plan_search/memory_trial.hpp, try_whole).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/text/progress_line.hpp"
#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

struct TrainingPlan;

/// Whether the memory bounds what the plan may take.
enum class MemoryBound : std::uint8_t { as_given, none };

struct SolveState {
  OptionWords words;
  ModelSpec model;  ///< that `words` name, read already
  MemoryRequest memory;
  double margin = 0;  ///< share of the memory that is to stay free
  MemoryBound bound = MemoryBound::as_given;
};

/// `state` with options set anew.
SolveState with_options(SolveState state, const OptionWords& changed);

/// The plan, whether or not its rules hold.
TrainingPlan plan_of(const SolveState& state);

/// What the allocator can have; both absent: unlimited.
struct AllocatorRoom {
  std::optional<Bytes> capacity;      ///< of the device, without what lies outside the allocator
  std::optional<Bytes> memory_limit;  ///< of the process

  /// The smaller of the two.
  [[nodiscard]] std::optional<Bytes> most() const;
};

AllocatorRoom room_of(const SolveState& state, const PlannedRun& run);

struct PlanOutcome {
  bool fits = false;
  Bytes peak;                ///< most reserved by a rank; if it does not fit, as far as is known
  std::string refusal = {};  ///< why there is no such run
};

/// Simulates plans and counts them.
class PlanTrials {
 public:
  PlanOutcome of(const SolveState& state);

  PlanOutcome unlimited(SolveState state);

  /// What another search did in one trial.
  void count() { progress_.show(++made_); }

 private:
  std::size_t made_ = 0;
  ProgressLine progress_{"plans simulated"};
};

/// The same without counting, for several threads.
PlanOutcome try_plan(const SolveState& state);
PlanOutcome try_unlimited(SolveState state);

}  // namespace highwater
