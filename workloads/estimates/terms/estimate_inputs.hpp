// What closed forms know about a plan: sizes of the model, the batch and the job.
//
// They share descriptions with the generator and nothing else: the plan, the closed formulas of
// parameter_count, and the list of parameter tensors that model.named_parameters() gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/units.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/parameters.hpp"

namespace highwater {

/// LLMem's default m_base: the value that fits its published results best (LLMem section 5 measures
/// it and prints none).
inline constexpr Bytes kLlmemBase{1100ULL << 20};

struct EstimateInputs {
  TrainingPlan plan;
  ModelShape shape;
  ParameterCount count;                ///< P is count.trainable()
  std::vector<ParameterInfo> tensors;  ///< in order of registration, tied tensors once
  std::int64_t largest_layer = 0;      ///< parameters that the largest module owns directly
  std::int64_t seq = 0;                ///< tokens of the longest sequence: s
  int gpus_per_node = 1;
  int nodes = 1;
  Bytes base = kLlmemBase;  ///< LLMem's m_base

  [[nodiscard]] int gpus() const { return gpus_per_node * nodes; }

  /// P: every parameter once.
  [[nodiscard]] std::int64_t parameters() const { return count.trainable(); }
};

/// The GPUs of a job as nodes; absent values follow from the plan's parallel sizes.
struct JobSize {
  std::optional<int> gpus_per_node;
  std::optional<int> nodes;
};

/// The most GPUs per node, up to 8, such that whole nodes add up to `gpus`. @pre gpus > 0
std::int64_t usual_gpus_per_node(std::int64_t gpus);

/// Why the plan's ranks cannot fill such a job, one sentence with a remedy; empty if they can.
std::string job_problem(const Parallelism& parallel, const JobSize& job);

/// The job has gpus_per_node * nodes GPUs. What `job` leaves open is what the plan's ranks need, on
/// nodes of at most 8 GPUs; a data-parallel size that the plan leaves at 1 becomes what tensor,
/// pipeline and context parallelism leave of the job.
/// @pre plan_problems(plan) and job_problem() are empty
EstimateInputs estimate_inputs(const TrainingPlan& plan, const JobSize& job = {});

/// The largest number of parameters that one module owns directly: DeepSpeed's
/// largest_layer_params (deepspeed/runtime/zero/stage3.py, model_to_params).
std::int64_t largest_module_parameters(const std::vector<ParameterInfo>& tensors);

}  // namespace highwater
