#include "workloads/strategy/optimizer_targets.hpp"

#include <algorithm>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

// Megatron-Core's LanguageModelEmbedding has those names, in each chunk of a pipeline's stage.
bool is_embedding(const nn::NamedTensor& parameter) {
  return parameter.layer == nn::LayerKind::embedding ||
         parameter.name.find("embedding.word_embeddings.") != std::string::npos ||
         parameter.name.find("embedding.position_embeddings.") != std::string::npos;
}

// Their biases are updated plainly.
bool is_weight_of_linear(const nn::NamedTensor& parameter) {
  return parameter.layer == nn::LayerKind::linear && parameter.tensor.dim() == 2;
}

// A head is a child of the model itself, or of a chunk.
bool is_matrix_of_layer(const nn::NamedTensor& parameter) {
  const bool is_in_layer = std::ranges::count(parameter.name, '.') > 1 &&
                           !parameter.name.ends_with(".output_layer.weight");
  return parameter.tensor.dim() == 2 && !is_embedding(parameter) && is_in_layer;
}

}  // namespace

void mark_optimizer_targets(nn::Module& model, OptimizerKind kind) {
  if (!has_targets(kind)) {
    return;
  }
  for (const nn::NamedTensor& parameter : nn::named_parameters(model)) {
    parameter.tensor->is_target = kind == OptimizerKind::muon ? is_matrix_of_layer(parameter)
                                                              : is_weight_of_linear(parameter);
  }
}

void mark_wide_states(nn::Module& model, const TrainingPlan& plan) {
  const bool is_8bit = library_of(plan.optimizer.kind) == OptimizerLibrary::bitsandbytes;
  if (!runs_trainer(plan.framework) || !is_8bit || has_targets(plan.optimizer.kind)) {
    return;
  }
  for (const nn::NamedTensor& parameter : nn::named_parameters(model)) {
    parameter.tensor->is_target = parameter.layer == nn::LayerKind::embedding;
  }
}

}  // namespace highwater
