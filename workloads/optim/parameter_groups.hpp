// The parameter groups that a training script gives its optimizer.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "workloads/eager/tensor.hpp"

namespace highwater {

/// How many dimensions a parameter has where the groups are made.
using DimensionsOf = std::function<std::size_t(const eager::Tensor&)>;

/// One group of all parameters, or norms and biases in a second one (dimension below 2).
std::vector<std::vector<eager::Tensor>> parameter_groups(
    const std::vector<eager::Tensor>& parameters, int groups,
    const DimensionsOf& dimensions_of = &eager::Tensor::dim);

}  // namespace highwater
