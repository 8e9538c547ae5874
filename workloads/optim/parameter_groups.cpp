#include "workloads/optim/parameter_groups.hpp"

namespace highwater {

using eager::Tensor;

std::vector<std::vector<Tensor>> parameter_groups(const std::vector<Tensor>& parameters,
                                                  int groups) {
  if (groups == 1) {
    return {parameters};
  }
  std::vector<std::vector<Tensor>> result(2);
  for (const auto& parameter : parameters) {
    result[parameter.dim() >= 2 ? 0 : 1].push_back(parameter);
  }
  return result;
}

}  // namespace highwater
