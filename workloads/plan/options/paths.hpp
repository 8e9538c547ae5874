// Where the members of a plan are that options set, by axis: OfDdp<&Ddp::static_graph>.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater::axes {

/// A member of a member of ... of a plan.
template <auto... kMembers>
struct Path {
  static const auto& in(const TrainingPlan& plan) { return (plan.*....*kMembers); }

  static auto& in(TrainingPlan& plan) { return (plan.*....*kMembers); }
};

template <auto kMember>
using OfOptimizer = Path<&TrainingPlan::optimizer, kMember>;
template <auto kMember>
using OfInputs = Path<&TrainingPlan::inputs, kMember>;
template <auto kMember>
using OfEvaluation = Path<&TrainingPlan::evaluation, kMember>;
template <auto kMember>
using OfLora = Path<&TrainingPlan::lora, kMember>;
template <auto kMember>
using OfQuantization = Path<&TrainingPlan::quantization, kMember>;
template <auto kMember>
using OfVersions = Path<&TrainingPlan::versions, kMember>;

template <auto... kMembers>
using OfParallel = Path<&TrainingPlan::parallel, kMembers...>;
template <auto... kMembers>
using OfDdp = OfParallel<&Parallelism::ddp, kMembers...>;
template <auto kMember>
using OfPowerSgd = OfDdp<&Ddp::power_sgd, kMember>;
template <auto kMember>
using OfFsdp = OfParallel<&Parallelism::fsdp, kMember>;
template <auto... kMembers>
using OfGemini = OfParallel<&Parallelism::gemini, kMembers...>;
template <auto kMember>
using OfMegatron = OfParallel<&Parallelism::megatron, kMember>;
template <auto kMember>
using OfApex = OfParallel<&Parallelism::apex, kMember>;
template <auto kMember>
using OfZero = OfParallel<&Parallelism::zero, kMember>;

}  // namespace highwater::axes
