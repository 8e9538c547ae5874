// What closed forms ask of an architecture beyond its sizes.
#pragma once

#include "workloads/estimates/estimate_inputs.hpp"

namespace highwater {

/// The MLP has three matrices: a gate beside the up projection.
bool has_gated_mlp(const ModelConfig& config);

/// Norms have a weight and no bias.
bool has_rms_norm(const ModelConfig& config);

/// Probability of the dropout after attention and MLP in this plan, 0 where the family has none.
double residual_dropout(const TrainingPlan& plan);

}  // namespace highwater
