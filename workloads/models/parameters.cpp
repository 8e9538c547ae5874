#include "workloads/models/parameters.hpp"

#include "workloads/models/language_model.hpp"

namespace highwater {

std::vector<ParameterInfo> model_parameters(const ModelSpec& spec) {
  TrainingPlan plan;
  plan.model = spec;
  eager::Runtime runtime(plan.gpu, {.major = 2, .minor = 6}, {.major = 5, .minor = 12});
  nn::ModelContext context{.runtime = runtime, .plan = plan, .place = eager::Place::host};
  const auto model = models::build_model(context);
  std::vector<ParameterInfo> parameters;
  for (const auto& [name, tensor] : nn::named_parameters(*model)) {
    parameters.push_back({name, {tensor.sizes().begin(), tensor.sizes().end()}, tensor.numel()});
  }
  return parameters;
}

}  // namespace highwater
