// A plan in one line for people.
#pragma once

#include <string>

namespace highwater {

struct TrainingPlan;

/// The model and every axis that is not at the default of its framework. The model's name may come
/// from a file: make it printable before it is printed.
std::string plan_summary(const TrainingPlan& plan);

}  // namespace highwater
