// Plans, inputs and rows for tests of the closed forms.
#pragma once

#include <string_view>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/estimates/evaluate.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/attention.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/optimizer.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::test {

inline constexpr double kGiB = 1073741824.0;

inline TrainingPlan estimated_plan(std::string_view model) {
  TrainingPlan plan;
  plan.versions = kRecordedReleases;
  plan.model = model_preset(model);
  plan.seq = {512};
  plan.precision = Precision::bf16;
  plan.optimizer.master_weights = true;
  if (!supports_sdpa(plan)) {
    plan.attention = Attention::eager;
  }
  return plan;
}

inline TrainingPlan without_training(TrainingPlan plan) {
  plan.training = false;
  plan.optimizer = {.kind = OptimizerKind::none};
  return plan;
}

inline EstimateInputs inputs_of(const TrainingPlan& plan, int gpus_per_node = 1, int nodes = 1) {
  REQUIRE(plan_problems(plan).empty());
  return estimate_inputs(plan, {gpus_per_node, nodes});
}

inline const Formula& form_named(std::string_view name) {
  const Formula* const found = find_formula(name);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace highwater::test
