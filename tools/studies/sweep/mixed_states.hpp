// A comparison of kinds of data parallelism that keep states of different widths: in 16 bits
// PyTorch's own wrappers keep parameters and moments as wide as the model, and DeepSpeed keeps fp32
// copies of them. Who reads the rows has to know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/sweep/sweep_axes.hpp"

namespace highwater {

struct TrainingPlan;

/// What to say of rows along --set dp-kind; absent where all of them keep states of one width.
std::optional<std::string> mixed_states_note(const TrainingPlan& plan,
                                             const std::vector<SweepAxis>& axes);

}  // namespace highwater
