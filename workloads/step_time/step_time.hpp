// How long a training step takes, by a model of kernels, links and pipelines: what `plan` orders
// strategies by. tools/docs/plans.md says what it leaves out.
//
// The step is that of the pipeline stage that takes longest: m micro-batches, each with its kernels
// and what these wait for; (p - 1) / v micro-batches of filling and draining, p stages of v chunks
// (Narayanan et al., arXiv 2104.04473, sections 2.2.1 and 2.2.2); and once a step the gradients and
// the optimizer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "workloads/step_time/assumptions.hpp"

namespace highwater {

struct TrainingPlan;

/// What a step's time is made of, in the order of StepTime::parts.
enum class StepPart : std::uint8_t {
  products,
  attention,
  elementwise,
  recomputation,
  tensor_parallel,
  context_parallel,
  expert_parallel,
  bubble,
  stages,
  data_parallel,
  optimizer,
  offload
};

inline constexpr std::size_t kStepParts = 12;

/// "matrix products", "pipeline bubble", ...
std::string_view to_string(StepPart part);

struct StepTime {
  std::array<double, kStepParts> seconds{};
  double sequences = 0;  ///< of a step, of all ranks

  double& operator[](StepPart part) { return seconds[static_cast<std::size_t>(part)]; }

  double operator[](StepPart part) const { return seconds[static_cast<std::size_t>(part)]; }

  [[nodiscard]] double total() const;

  [[nodiscard]] double sequences_per_second() const { return sequences / total(); }
};

/// @pre plan_problems(plan) is empty
StepTime step_time(const TrainingPlan& plan, const TimeAssumptions& assumed = {});

/// Whether the plan's tensor parallelism sums beside its products: Megatron-Core's does with
/// sequence parallelism, if that is assumed.
bool sums_beside_products(const TrainingPlan& plan, const TimeAssumptions& assumed);

}  // namespace highwater
