// The layer norm of 3D layers, whose sums are over the ranks that share a row.
//
// Source: Colossal-AI 0.5.0, legacy/nn/layer/parallel_3d/_operation.py: _Layernorm3D, and its
// TorchScript functions norm_forward and norm_backward.
#pragma once

#include <string>

#include "workloads/colossalai/layers/cube.hpp"
#include "workloads/colossalai/layers/layer.hpp"

namespace highwater::colossalai {

/// `cube` must outlive the layer.
LayerPtr make_cube_norm(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
                        std::int64_t width);

}  // namespace highwater::colossalai
