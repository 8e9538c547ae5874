// Whose code runs: the model's, the training loop's, and who makes the requests.
#pragma once

#include <cstdint>

namespace highwater {

/// Whose Python code runs: transformers' classes, torchtitan's (`plain` in recordings),
/// torchtune's or Megatron-Core's.
enum class ModelCode : std::uint8_t { hf, torchtitan, torchtune, megatron };

/// Whose training loop, optimizer and defaults.
enum class Framework : std::uint8_t {
  torch,    ///< a bare loop that keeps nothing but the loss, as in the recordings
  hf,       ///< a plain loop around a model of transformers, as people write it
  trainer,  ///< transformers' Trainer
  trl_sft,  ///< TRL's SFTTrainer
  trl_dpo,  ///< TRL's other trainers, which the generator lacks: DPOTrainer,
  trl_kto,
  trl_orpo,
  trl_reward,  ///< RewardTrainer,
  trl_grpo,    ///< and those that write texts to learn from
  trl_rloo,
  accelerate,        ///< a script's own loop around accelerate's Accelerator, each model whole
  accelerate_fsdp2,  ///< the same with its FSDP plugin, version 2
  torchtitan,
  torchtune,
  lightning,
  deepspeed,
  megatron,
  nemo,
  colossalai_gemini
};

/// What makes a plan's requests.
enum class EngineKind : std::uint8_t {
  automatic,  ///< the model where it covers the plan, else PyTorch
  model,      ///< this program's own generator
  torch,      ///< an installed PyTorch, on a simulated device
  both        ///< both, to be compared
};

/// The interpreter whose PyTorch carries out a plan, unless one is named.
inline constexpr const char* kDefaultPython = "python3";

/// Whether transformers' Trainer runs the loop: itself, or as the base of TRL's.
bool runs_trainer(Framework framework);

/// Whether one of TRL's trainers runs the loop.
bool runs_trl(Framework framework);

/// Whether the model writes the texts that it learns from.
bool writes_texts(Framework framework);

/// Whether a frozen model can answer beside the one that is trained.
bool can_have_reference(Framework framework);

/// Whether accelerate prepared the model (Accelerator.prepare).
bool runs_accelerate(Framework framework);

/// Whether a script's own loop goes over what Accelerator.prepare() returned.
bool loops_around_accelerator(Framework framework);

/// Whether a model that was sharded on meta gets its weights from a checkpoint, one by one.
bool loads_checkpoint(Framework framework);

}  // namespace highwater
