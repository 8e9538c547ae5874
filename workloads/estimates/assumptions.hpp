// Questions that several closed forms ask of a plan, and how they word the answers.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "workloads/estimates/estimate_inputs.hpp"

namespace highwater {

/// One assumption of a form: whether the plan keeps it, and how it is said if not.
struct Assumption {
  bool holds = true;
  std::string sentence;
};

/// The sentences of those that do not hold.
std::vector<std::string> broken(std::initializer_list<Assumption> assumptions);

/// A refusal if the plan computes without gradients, else "".
std::string refuse_without_training(const EstimateInputs& inputs);

/// Adam or AdamW with two moments in full precision.
bool uses_adam(const EstimateInputs& inputs);

/// No adapters: every parameter has a gradient and states.
bool trains_all(const EstimateInputs& inputs);

/// Parameters and gradients are fp16 or bf16 tensors (autocast keeps them fp32).
bool has_half_weights(const EstimateInputs& inputs);

/// 16-bit weights with fp32 copies in the optimizer: what mixed-precision training means in
/// DeepSpeed, Megatron-LM and NeMo.
bool has_master_weights(const EstimateInputs& inputs);

}  // namespace highwater
