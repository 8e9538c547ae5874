// Tensor.register_hook of a parameter: changes its gradient before it is accumulated.
#pragma once

#include <functional>

#include "workloads/eager/node.hpp"

namespace highwater::colossalai {

class LeafHook {
 public:
  using Hook = std::function<eager::Tensor(eager::Tensor grad)>;

  /// @pre `leaf` requires a gradient
  LeafHook(const eager::Tensor& leaf, Hook hook);
  LeafHook(const LeafHook&) = delete;
  LeafHook& operator=(const LeafHook&) = delete;
  ~LeafHook();

 private:
  eager::Ref<eager::Node> accumulator_;
  eager::BackwardFunction accumulate_;
};

}  // namespace highwater::colossalai
