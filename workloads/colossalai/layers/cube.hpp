// A cube of ranks (3D tensor parallelism): the groups of one rank, and the gradients that they are
// still reducing.
//
// Source: Colossal-AI 0.5.0, legacy/nn/layer/parallel_3d/_utils.py.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "workloads/colossalai/layers/collectives.hpp"
#include "workloads/colossalai/layers/leaf_hook.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/tensor_grid.hpp"

namespace highwater::colossalai {

/// Gradients that are still being reduced (AsyncGradientBucket).
class PendingGradients {
 public:
  /// push_async_grad: the zeros that autograd gets instead.
  Tensor push(Scattered pending, const Tensor& parameter) {
    pending_[parameter.get()] = std::move(pending);
    const Tensor& grad = pending_[parameter.get()].result;
    const eager::OpScope op(grad.runtime(), "zeros_like");
    return eager::empty_like(grad);
  }

  /// _async_grad_hook: adds what was reduced, in place.
  std::unique_ptr<LeafHook> hook_of(const Tensor& parameter) {
    return std::make_unique<LeafHook>(parameter, [this, key = parameter.get()](Tensor grad) {
      pending_.at(key).work.wait();
      grad.runtime().launch(1);
      pending_.erase(key);
      return grad;
    });
  }

 private:
  std::map<const eager::TensorImpl*, Scattered> pending_;
};

struct Cube {
  Cube(eager::Runtime& runtime, const Parallelism& p)
      : side(grid_side(p)),
        rows(runtime, side, p.backend),
        columns(runtime, side, p.backend),
        layers(runtime, side, p.backend),
        rows_and_columns(runtime, side * side, p.backend),
        layers_and_columns(runtime, side * side, p.backend) {}

  int side;
  ProcessGroup rows;
  ProcessGroup columns;
  ProcessGroup layers;
  ProcessGroup rows_and_columns;
  ProcessGroup layers_and_columns;
  PendingGradients pending;
  bool norm_forward_is_fused = false;   ///< TorchScript has run it once
  bool norm_backward_is_fused = false;  ///< the same
};

/// The groups of one layer. Layers swap what they call input and output, since one's output is the
/// next one's input (swap_in_out_group).
struct CubeGroups {
  ProcessGroup* input;
  ProcessGroup* weight;
  ProcessGroup* output;
  ProcessGroup* input_and_weight;
  ProcessGroup* output_and_weight;

  void swap() {
    std::swap(input, output);
    std::swap(input_and_weight, output_and_weight);
  }
};

}  // namespace highwater::colossalai
