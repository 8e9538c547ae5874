// What Megatron-Core's distributed optimizer keeps on each rank, without making it.
//
// Ranks hold equal parts of each bucket, but a part may begin in the middle of a parameter, so that
// ranks copy tensors of different sizes (_build_model_gbuf_param_range_map of Megatron-Core
// 0.16.1).
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::megatron {

/// By place among the ranks that share gradients: the sizes, in elements, of the parts of
/// parameters that MixedPrecisionOptimizer copies, in its order, with a 0 behind each list of it.
/// `model` is the stage that `plan.parallel.rank` has. @pre the plan has the distributed optimizer
std::vector<std::vector<std::int64_t>> optimizer_shards(nn::Module& model,
                                                        const TrainingPlan& plan);

}  // namespace highwater::megatron
