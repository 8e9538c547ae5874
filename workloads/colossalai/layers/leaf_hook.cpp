#include "workloads/colossalai/layers/leaf_hook.hpp"

#include <utility>

#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {

using eager::Tensor;
using eager::TensorList;

// The node that accumulates into a leaf is found as the edge of any operator applied to it.
LeafHook::LeafHook(const Tensor& leaf, Hook hook) {
  const eager::Scoped<bool> grad_mode(leaf.runtime().grad_enabled, true);
  accumulator_ = eager::begin_node(leaf.runtime(), "", {leaf})->next_edges[0].node;
  accumulate_ = accumulator_->backward;
  accumulator_->backward = [accumulate = accumulate_, hook = std::move(hook)](eager::Node& node,
                                                                              TensorList& grads) {
    grads[0] = hook(std::move(grads[0]));
    return accumulate(node, grads);
  };
}

LeafHook::~LeafHook() {
  accumulator_->backward = std::move(accumulate_);
}

}  // namespace highwater::colossalai
