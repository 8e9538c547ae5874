// Layers over a cube of ranks: Colossal-AI's 3D tensor parallelism.
//
// With q ranks on each side a rank has 1 / q^3 of each weight, of the batch (1 / q^2) and the width
// (1 / q) of each activation. Products gather their input along one side and their weight along
// another, and scatter the result along the third. Gradients of parameters are reduced beside the
// rest of the backward: autograd gets zeros, to which a hook adds them. Source: Colossal-AI 0.5,
// legacy/nn/layer/parallel_3d/{layers,_operation,_utils}.py.
#pragma once

#include "workloads/colossalai/layers/layer.hpp"

namespace highwater::colossalai {

std::unique_ptr<LayerMaker> make_cube_layers(nn::ModelContext& context);

}  // namespace highwater::colossalai
