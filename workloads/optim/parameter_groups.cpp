#include "workloads/optim/parameter_groups.hpp"

namespace highwater {

using eager::Tensor;

std::vector<std::vector<Tensor>> parameter_groups(const std::vector<Tensor>& parameters, int groups,
                                                  const DimensionsOf& dimensions_of) {
  if (groups == 1) {
    return {parameters};
  }
  std::vector<std::vector<Tensor>> result(2);
  for (const auto& parameter : parameters) {
    result[dimensions_of(parameter) >= 2 ? 0 : 1].push_back(parameter);
  }
  return result;
}

}  // namespace highwater
