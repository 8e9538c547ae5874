#include "workloads/plan/version_profile.hpp"

#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

VersionProfile version_profile(const TrainingPlan& plan) {
  const Release release = release_of(plan.versions.transformers);
  VersionProfile profile = kNewestProfile;
  for (const ProfileRow& row : plan.model.config.family().releases) {
    if (row.from <= release) {
      profile = row.profile;
    }
  }
  if ((runs_context_parallel(plan) || runs_ulysses(plan)) && profile.has_loss_function) {
    profile.shift = LossShift::none;
  }
  return profile;
}

}  // namespace highwater
