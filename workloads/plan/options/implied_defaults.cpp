#include "workloads/plan/options/implied_defaults.hpp"

#include <array>

#include "traces/release.hpp"

namespace highwater {
namespace {

constexpr std::array kImpliedDefaults{
    // A framework's own implementation means nothing where nothing is checkpointed.
    ImpliedDefault{
        "checkpoint-impl",
        [](const TrainingPlan& plan) { return plan.checkpoint.kind == CheckpointKind::none; },
        "nonreentrant"},
    // torchtitan 01/2025, parallelize_llama.py: stages would gather for every micro-batch.
    ImpliedDefault{
        "reshard",
        [](const TrainingPlan& plan) { return plan.parallel.pp > 1 && is_fsdp2(plan.parallel); },
        "never"},
    // transformers' own choice for classes without SDPA.
    ImpliedDefault{"attention", [](const TrainingPlan& plan) { return !supports_sdpa(plan); },
                   "eager"},
    // transformers 5.12 modeling_utils.py get_correct_experts_implementation.
    ImpliedDefault{"experts",
                   [](const TrainingPlan& plan) {
                     return plan.model_code == ModelCode::hf &&
                            has_field(plan.model.config, FieldRole::experts) &&
                            release_of(plan.versions.torch) >= Release{2, 9};
                   },
                   "grouped_mm"},
    // torchtitan's train.py: no rank ever holds the whole model.
    ImpliedDefault{"init", [](const TrainingPlan& plan) { return is_fsdp2(plan.parallel); },
                   "meta"},
};

}  // namespace

std::span<const ImpliedDefault> implied_defaults() {
  return kImpliedDefaults;
}

}  // namespace highwater
