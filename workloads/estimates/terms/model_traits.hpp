// What closed forms need to know about an architecture beyond its sizes.
#pragma once

#include "workloads/estimates/terms/estimate_inputs.hpp"

namespace highwater {

/// The MLP has three matrices: a gate beside the up projection.
bool has_gated_mlp(const ModelConfig& config);

/// Norms have a weight and no bias.
bool has_rms_norm(const ModelConfig& config);

/// Probability of the dropout after attention and MLP in this plan, 0 where the family has none.
double residual_dropout(const TrainingPlan& plan);

/// Probability of the dropout of attention's scores in this plan.
double attention_dropout(const TrainingPlan& plan);

/// Width of the token embedding: less than the layers' in OPT-350m.
std::int64_t embedding_width(const ModelConfig& config);

}  // namespace highwater
