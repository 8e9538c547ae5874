// The parameters of a model, one by one, as its module tree registers them.
#pragma once

#include <string>
#include <vector>

#include "workloads/plan/dtype.hpp"
#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

struct TrainingPlan;

/// What a parameter is to its module.
enum class ParameterRole : std::uint8_t {
  embedding,      ///< a table
  linear_weight,  ///< of nn.Linear
  conv1d_weight,  ///< of transformers' Conv1D, a linear layer under another name
  bias,           ///< of a linear layer
  norm,           ///< weight or bias of a norm
  other           ///< of modules without a class of their own: experts, routers
};

/// One parameter tensor: one block of the caching allocator.
struct ParameterInfo {
  std::string name;                 ///< "model.layers.0.mlp.up_proj.weight"
  std::vector<std::int64_t> sizes;  ///< as stored: [out, in] of a linear layer
  std::int64_t elements = 0;
  ParameterRole role = ParameterRole::other;
};

/// model.named_parameters(): in order of registration, tied tensors once. @pre model_problems(spec)
/// is empty
std::vector<ParameterInfo> model_parameters(const ModelSpec& spec);

/// The same of what the plan trains: all parameters, or the adapters that LoRA adds.
std::vector<ParameterInfo> trained_parameters(const TrainingPlan& plan);

/// Elements that the plan trains: all parameters, or the adapters that LoRA adds.
std::int64_t trainable_elements(const TrainingPlan& plan);

}  // namespace highwater
