// Defaults that follow from other options of the same plan: they hold where the option is not
// given.
#pragma once

#include <span>
#include <string_view>

namespace highwater {

struct TrainingPlan;

struct ImpliedDefault {
  std::string_view option;
  bool (*applies)(const TrainingPlan& plan);
  std::string_view word;
};

/// None of them changes what another asks about.
std::span<const ImpliedDefault> implied_defaults();

}  // namespace highwater
