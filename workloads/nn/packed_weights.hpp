// The parameters of a model that hold quantised weights.
#pragma once

#include <unordered_map>

#include "workloads/nn/layers.hpp"

namespace highwater::nn {

/// By the parameter's TensorImpl: what its layer multiplies with.
using PackedWeights = std::unordered_map<const void*, const QuantizedWeight*>;

/// Those below `root`.
PackedWeights packed_weights(const Module& root);

}  // namespace highwater::nn
