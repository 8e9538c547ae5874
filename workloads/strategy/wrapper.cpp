#include "workloads/strategy/wrapper.hpp"

#include "workloads/optim/clip_grad.hpp"

namespace highwater {

void Wrapper::clip_gradients() {
  const std::vector<eager::Tensor> all = parameters();
  if (!all.empty()) {
    clip_grad_norm(all.front().runtime(), all);
  }
}

}  // namespace highwater
