// How far the model of time is from throughputs that were published: what a rate of `plan` means.
//
// The model (workloads/step_time) has kernels and links at the rates that benchmarks of one kernel
// reach, and leaves out launches, stragglers and contention, so that it is faster than any run.
// Runs that others published (workloads/facts/throughputs.json) reach a share of it, which differs
// between generations of GPUs and between dense models and mixtures. The interval of a rate is the
// estimate times the shares of runs of its kind, without the tenth at either end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// A run that was published, and what the model says of its plan.
struct PublishedRate {
  std::string name;
  std::string source;
  std::string about;  ///< what the plan cannot say; empty: nothing
  TrainingPlan plan;
  double measured = 0;   ///< tokens per second and GPU
  double estimated = 0;  ///< the same by the model of time

  [[nodiscard]] double share() const { return measured / estimated; }
};

/// In the order of the file. @throws InputError for a row that is no plan
const std::vector<PublishedRate>& published_rates();

/// Shares of the estimate that runs of a kind reach, least and most.
struct UsualShares {
  double least = 0;
  double most = 0;
  std::size_t runs = 0;
  std::string kind;  ///< "runs of dense models on GPUs of compute capability 9"
};

/// Those of runs like the plan: of the same kind of model, and where there are enough of them on
/// the same generation of GPUs.
UsualShares usual_shares(const TrainingPlan& plan);

/// Tokens per second and GPU of a plan's step, by the model of time.
double tokens_per_gpu(const TrainingPlan& plan, double sequences_per_second);

}  // namespace highwater
