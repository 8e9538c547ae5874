// The ways to train a model on N GPUs that `plan` compares: every factorisation of N over the axes
// that a strategy can use, with every kind of checkpointing.
//
// A strategy is a row of a table: a name, the axes it uses, and what it sets in the plan. A new one
// is a new row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// A plan that might fit. Its batch is not chosen yet.
struct Candidate {
  std::string_view strategy;
  TrainingPlan plan;
};

/// Candidates that the generator can run, and why others were omitted.
struct Candidates {
  /// Those of a group differ in checkpointing only: full, which needs least memory, none, every
  /// second block, selective.
  std::vector<std::vector<Candidate>> runnable;
  std::vector<std::string> left_out;  ///< why the others were not, each reason once
};

/// GPUs of one machine: tensor parallelism stays within it, HSDP copies the model for each.
inline constexpr int kRanksOfMachine = 8;

/// Micro-batches of a pipelined step that is given none: as many for each stage, so that a stage
/// waits for at most a quarter of its time.
inline constexpr int kMicroBatchesPerStage = 4;

/// `base` gives the model, its precision and everything else that does not depend on the strategy.
/// @pre gpus >= 1
Candidates strategy_candidates(const TrainingPlan& base, int gpus);

}  // namespace highwater
