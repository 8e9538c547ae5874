// A closed form that no simulation goes below: what the first stage of a pipeline, which has most
// micro-batches in flight, and the last one, which has the head, have to hold. It tells without a
// simulation that a plan does not fit; whether one fits only a simulation can tell.
#pragma once

#include "traces/units.hpp"

namespace highwater {

struct TrainingPlan;

/// Parameters, and with them either gradients and optimizer states, or optimizer states and what
/// the micro-batches in flight keep for backward: inputs of matrix products and of checkpointed
/// blocks, and beside it the layer that FSDP has gathered or the logits. Gradients are there in
/// forward, too, where they stay between micro-batches. All scratch is left out.
Bytes least_memory(const TrainingPlan& plan);

/// Whether it is known to hold for a plan with these options.
bool has_least_memory(const TrainingPlan& plan);

}  // namespace highwater
