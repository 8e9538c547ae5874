// LoRA: low-rank adapters beside the frozen layers of a model, as PEFT's get_peft_model adds them.
//
// The model is built first and is then changed in place, so model families do not need to know
// about it. Module paths keep the model's own names: PEFT's prefix "base_model.model." is left out.
// Source: peft/tuners/lora/{layer,model}.py and tuners/tuners_utils.py.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// get_peft_model(model, LoraConfig(...)) of the plan: freezes all parameters and gives every
/// targeted linear layer an adapter of fp32 weights. A checkpointed model's embedding gets an
/// output that requires a gradient (enable_input_require_grads). The target "all-linear" means
/// every linear layer except the model's own children: the output embedding.
void apply_lora(Module& root);

}  // namespace highwater::nn
