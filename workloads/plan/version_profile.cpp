#include "workloads/plan/version_profile.hpp"

namespace highwater {

VersionProfile version_profile(const TrainingPlan& plan) {
  const Release release = release_of(plan.versions.transformers);
  VersionProfile profile = kNewestProfile;
  for (const ProfileRow& row : plan.model.config.family().releases) {
    if (row.from <= release) {
      profile = row.profile;
    }
  }
  return profile;
}

}  // namespace highwater
