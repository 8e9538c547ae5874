// A closed form that no simulation goes below: what the pipeline stage with most micro-batches in
// flight has to hold. It tells without a simulation that a plan does not fit; whether one fits only
// a simulation can tell.
#pragma once

#include "traces/units.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// Parameters, and with them either gradients and optimizer states, or optimizer states and what
/// the micro-batches in flight keep for backward: inputs of matrix products and of checkpointed
/// blocks. Norms, the head, the loss and all scratch are left out.
Bytes least_memory(const TrainingPlan& plan);

/// Whether it is known to hold for a plan with these options.
bool has_least_memory(const TrainingPlan& plan);

}  // namespace highwater
