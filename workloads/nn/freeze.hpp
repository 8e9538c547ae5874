// Parameters that a script does not train: module.requires_grad_(False) before it is used.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// Freezes what the plan names (TrainingPlan::frozen), or all else.
/// @throws InputError where the model has nothing of these names
void apply_freeze(Module& root);

}  // namespace highwater::nn
