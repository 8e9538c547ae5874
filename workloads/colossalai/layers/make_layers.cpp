#include "workloads/colossalai/layers/cube_layers.hpp"
#include "workloads/colossalai/layers/grid_layers.hpp"
#include "workloads/colossalai/layers/layer.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::colossalai {

std::unique_ptr<LayerMaker> make_layers(nn::ModelContext& context) {
  const bool is_cube = context.plan.parallel.tp_kind == TensorParallel::colossalai_3d;
  return is_cube ? make_cube_layers(context) : make_grid_layers(context);
}

}  // namespace highwater::colossalai
