// What `plan` compares: every strategy with every layout that it can use, and for each of these the
// ways in which its step can be cut and its activations kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/plan_search/strategy_table.hpp"
#include "workloads/plan/checkpoint.hpp"
#include "workloads/plan/loss.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/step_time.hpp"

namespace highwater {

/// One way to carry out a candidate.
struct Variation {
  Checkpoint checkpoint;
  int chunks = 1;  ///< of a pipeline's rank
  std::int64_t batch = 1;
  int grad_accum = 1;
  LossKind loss = LossKind::hf;
  bool keeps_logits = false;  ///< until the next forward has returned
  double seconds = 0;         ///< of a step, per sequence
};

struct Candidate {
  const StrategyRow* strategy = nullptr;
  std::size_t kind = 0;               ///< of training, by what it gives up
  TrainingPlan plan;                  ///< without what varies
  std::vector<Variation> variations;  ///< the fastest first, those with another loss at the end
};

/// Sets what varies. @pre `plan` is the candidate's, with any variation
void set_variation(const Variation& variation, TrainingPlan& plan);

/// The plan with what varies.
TrainingPlan varied(const Candidate& candidate, const Variation& variation);

/// What is asked for besides the plan.
struct CandidateChoice {
  int gpus = 1;
  std::optional<std::int64_t> global_batch;  ///< sequences of a step
  std::string only;                          ///< part of the names of strategies; empty: all
  std::size_t least_given_up = 0;            ///< index of a kind of training
  std::size_t most_given_up = 0;
  FixedOptions fixed;  ///< what is not searched
  PipelineRule pipelines = PipelineRule::any;
  TimeAssumptions assumed;
};

/// Candidates that the generator can run, and why others were left out.
struct Candidates {
  std::vector<Candidate> runnable;
  std::vector<std::string> left_out;  ///< each reason once
};

/// `base` gives the model, its precision and everything else that does not depend on the strategy.
/// @pre gpus >= 1
Candidates candidates_for(const TrainingPlan& base, const CandidateChoice& choice);

/// Sequences of a step that is given no size: 4 Mi tokens, the size of Llama 2's (arXiv 2307.09288,
/// section 2.2), but at most 128 Ki tokens per GPU, those of NVIDIA's recipe of Llama 3 8B on eight
/// (Megatron-Bridge's performance summary: 128 sequences of 8,192).
std::int64_t usual_global_batch(const TrainingPlan& plan, int gpus);

}  // namespace highwater
