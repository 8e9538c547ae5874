// The parameter groups that a training script gives its optimizer.
#pragma once

#include <vector>

#include "workloads/eager/tensor.hpp"

namespace highwater {

/// One group of all parameters, or norms and biases in a second one (dimension below 2).
std::vector<std::vector<eager::Tensor>> parameter_groups(
    const std::vector<eager::Tensor>& parameters, int groups);

}  // namespace highwater
