// Layers over a square grid of ranks: Colossal-AI's 2D and 2.5D tensor parallelism.
//
// With q ranks on each side a rank has 1 / q of the rows and 1 / q of the columns of each weight,
// and of the batch and the width of each activation. 2.5D repeats the grid: its layers hold the
// same weights, and a script gives each of them other batches. Source: Colossal-AI 0.5, legacy/nn/
// layer/parallel_2d and parallel_2p5d, {layers,_operation}.py.
#pragma once

#include "workloads/colossalai/layers/layer.hpp"
#include "workloads/plan/tensor_grid.hpp"

namespace highwater::colossalai {

std::unique_ptr<LayerMaker> make_grid_layers(nn::ModelContext& context);

}  // namespace highwater::colossalai
