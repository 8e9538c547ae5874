#include "workloads/estimates/terms/model_traits.hpp"

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// The plan's dropout, or else the model's own; 0 where the family has none of that role.
double dropout_of(const TrainingPlan& plan, FieldRole role) {
  const ModelConfig& config = plan.model.config;
  const auto own = probability_of(config, FieldRole::dropout);
  const auto found = own ? own : probability_of(config, role);
  return found ? plan.dropout.value_or(*found) : 0.0;
}

}  // namespace

bool has_gated_mlp(const ModelConfig& config) {
  return flag_of(config, FieldRole::gated).value_or(config.family().traits.gated_mlp);
}

bool has_rms_norm(const ModelConfig& config) {
  return config.family().traits.rms_norm;
}

double residual_dropout(const TrainingPlan& plan) {
  return dropout_of(plan, FieldRole::residual_dropout);
}

double attention_dropout(const TrainingPlan& plan) {
  return dropout_of(plan, FieldRole::attention_dropout);
}

std::int64_t embedding_width(const ModelConfig& config) {
  return size_of(config, FieldRole::embedding_width).value_or(shape_of(config).hidden);
}

}  // namespace highwater
