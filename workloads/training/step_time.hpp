// How long a training step might take, used to rank strategies that fit. Not a prediction: kernels
// run at a fixed share of peak throughput, collectives at the nominal rate of the links, without
// latency.
//
// Work of a sequence of s tokens: 6 * P * s floating point operations for the matrices and
// 6 * L * h * s^2 for causal attention (Korthikanti et al., arXiv 2205.05198, appendix A, halved
// for causality), a third more where whole blocks are computed again. A pipeline of p stages waits
// for (p - 1) / m of its work with m micro-batches (Narayanan et al., arXiv 2104.04473,
// section 2.2).
//
// Bytes moved by a rank: tensor parallelism has two all-reduces of [tokens, hidden] per layer in
// forward and two in backward, two more where forward runs again (Shoeybi et al., arXiv
// 1909.08053), and the kernels wait for them; data parallelism sums the gradients once per step,
// and sharded parameters are gathered twice per micro-batch (Rajbhandari et al., arXiv 1910.02054,
// section 7), while kernels run; with HSDP among neighbours, and the shards of gradients are summed
// over the copies. A ring moves 2 (n - 1) / n of an all-reduce's bytes through each
// rank, half of that of a gather or a reduce-scatter. Offloaded states cross PCIe.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// Seconds of one step of one rank.
struct StepTime {
  double compute = 0;           ///< kernels
  double bubble = 0;            ///< a pipeline stage is idle
  double tensor_parallel = 0;   ///< kernels wait for activations of the other ranks
  double context_parallel = 0;  ///< keys and values of the other ranks, beside kernels
  double data_parallel = 0;     ///< gradients and parameters, beside kernels
  double offload = 0;           ///< over PCIe, beside kernels

  [[nodiscard]] double total() const;
};

/// @pre plan_problems(plan) is empty
StepTime step_time(const TrainingPlan& plan);

/// Sequences that all ranks together train on per second.
double sequences_per_second(const TrainingPlan& plan);

}  // namespace highwater
