#include "workloads/strategy/wrapper.hpp"

#include "workloads/optim/clip_grad.hpp"

namespace highwater {

// Norms and biases have one dimension.
std::vector<std::vector<eager::Tensor>> Wrapper::parameter_groups(int groups) const {
  if (groups == 1) {
    return {parameters()};
  }
  std::vector<std::vector<eager::Tensor>> result(2);
  for (const auto& parameter : parameters()) {
    result[parameter.dim() >= 2 ? 0 : 1].push_back(parameter);
  }
  return result;
}

void Wrapper::clip(const std::vector<eager::Tensor>& parameters) {
  if (!parameters.empty()) {
    clip_grad_norm(parameters.front().runtime(), parameters);
  }
}

}  // namespace highwater
