#include "workloads/colossalai/ring/summed_gradients.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {

using eager::Tensor;

void SummedGradients::finish_gradients() {
  std::vector<Tensor> flat;
  for (const Tensor& parameter : parameters()) {
    if (const Tensor& grad = parameter->grad; grad.defined()) {
      flat.push_back(eager::view(eager::contiguous(eager::detach(grad)), {grad.numel()}));
    }
  }
  if (flat.empty()) {
    return;
  }
  const Tensor coalesced = eager::cat(flat, 0);
  coalesced.runtime().categorize(coalesced, Category::communication);
  ranks_.all_reduce(coalesced).wait();
}

}  // namespace highwater::colossalai
