#include "workloads/training/parameters.hpp"

#include "workloads/models/language_model.hpp"
#include "workloads/nn/freeze.hpp"
#include "workloads/nn/lora.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

namespace {

ParameterRole role_of(const nn::NamedTensor& parameter) {
  const bool is_matrix = parameter.tensor.dim() == 2;
  switch (parameter.layer) {
    case nn::LayerKind::embedding:
      return ParameterRole::embedding;
    case nn::LayerKind::linear:
      return is_matrix ? ParameterRole::linear_weight : ParameterRole::bias;
    case nn::LayerKind::conv1d:
      return is_matrix ? ParameterRole::conv1d_weight : ParameterRole::bias;
    case nn::LayerKind::norm:
      return ParameterRole::norm;
    case nn::LayerKind::other:
      return ParameterRole::other;
  }
  return ParameterRole::other;
}

ParameterInfo info_of(const nn::NamedTensor& parameter) {
  const auto& sizes = parameter.tensor.sizes();
  return {
      parameter.name, {sizes.begin(), sizes.end()}, parameter.tensor.numel(), role_of(parameter)};
}

std::vector<ParameterInfo> listed_parameters(const OtherConfig& config) {
  std::vector<ParameterInfo> parameters;
  for (const ListedParameter& listed : config.parameters) {
    parameters.push_back({listed.name, listed.sizes, listed.elements()});
  }
  return parameters;
}

/// Visits the parameters of the plan's model, built on the host, where nothing is allocated. Those
/// of a model without a family are not known.
template <class Visitor>
void visit_parameters(const TrainingPlan& plan, Visitor&& visit) {
  if (is_other(plan.model.config)) {
    return;
  }
  eager::Runtime runtime(plan.gpu, {.major = 2, .minor = 6}, {.major = 5, .minor = 12});
  nn::ModelContext context{.runtime = runtime, .plan = plan, .place = eager::Place::host};
  const auto model = models::build_model(context);
  if (!plan.frozen.empty()) {
    nn::apply_freeze(*model);
  }
  if (plan.lora.rank > 0 && !builds_adapters(plan)) {
    nn::apply_lora(*model);
  }
  for (const auto& parameter : nn::named_parameters(*model)) {
    visit(parameter);
  }
}

}  // namespace

std::vector<ParameterInfo> model_parameters(const ModelSpec& spec) {
  if (lists_parameters(spec.config)) {
    return listed_parameters(spec.config.as<OtherConfig>());
  }
  TrainingPlan plan;
  plan.model = spec;
  std::vector<ParameterInfo> parameters;
  visit_parameters(
      plan, [&](const nn::NamedTensor& parameter) { parameters.push_back(info_of(parameter)); });
  return parameters;
}

std::vector<ParameterInfo> trained_parameters(const TrainingPlan& plan) {
  std::vector<ParameterInfo> parameters;
  visit_parameters(plan, [&](const nn::NamedTensor& parameter) {
    if (parameter.tensor.requires_grad()) {
      parameters.push_back(info_of(parameter));
    }
  });
  return parameters;
}

std::int64_t trainable_elements(const TrainingPlan& plan) {
  std::int64_t elements = 0;
  visit_parameters(plan, [&](const nn::NamedTensor& parameter) {
    const bool is_here =
        parameter.tensor->storage->device == parameter.tensor.runtime().traced_device;
    elements += is_here && parameter.tensor.requires_grad() ? parameter.tensor.numel() : 0;
  });
  return elements;
}

}  // namespace highwater
