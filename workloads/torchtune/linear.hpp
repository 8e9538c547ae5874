// torchtune's linear layers: nn.Linear, LoRALinear or DoRALinear where the plan's adapters go, and
// with quantize_base their weights and those of FrozenNF4Linear in torchao's NF4.
//
// The builders make adapters with the layers, in the type of the model, where PEFT changes a model
// that is there. Targets have PEFT's names ("o_proj", "gate_proj", "lm_head"), or torchtune's own.
//
// Source: torchtune 0.6.1, modules/peft/lora.py, modules/peft/dora.py, _utils.py
// (set_trainable_params), modules/low_precision/nf4_linear.py; models/llama3/
// _component_builders.py.
#pragma once

#include <string>

#include "workloads/nn/layers.hpp"

namespace highwater::torchtune {

class Linear : public nn::Linear {
 public:
  Linear(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
         nn::Bias with_bias = nn::Bias::none);

  /// What load_state_dict() does with the layer's weight.
  void load() const;

  /// DoRA: the lengths of the weight's rows, after the checkpoint is loaded.
  void initialize_magnitude() const;

 private:
  void freeze_in_nf4(const eager::Tensor& made);
  void require_whole_shares(const eager::Tensor& factor) const;

  const class LowRank* low_rank_ = nullptr;
};

/// load_state_dict() of the checkpoint, and what is initialised by its weights
/// (recipes/lora_finetune_single_device.py _setup_model).
void load_checkpoint(const nn::Module& root);

/// set_trainable_params: all but the adapters' parameters of `root` are frozen.
/// @throws InputError if it has none
void train_adapters_alone(nn::Module& root);

}  // namespace highwater::torchtune
