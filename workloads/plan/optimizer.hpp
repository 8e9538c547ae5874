// The optimizers of a plan: whose code they are, and what a step of them needs to be told.
#pragma once

#include <cstdint>

namespace highwater {

enum class OptimizerKind : std::uint8_t {
  none,
  // torch.optim
  sgd,
  sgd_momentum,
  adam,
  adamw,
  rmsprop,
  adagrad,
  adafactor,
  nadam,
  radam,
  adamax,
  adadelta,
  asgd,
  rprop,
  muon,   ///< matrices of the layers; AdamW for the others
  lbfgs,  ///< calls the model again
  // bitsandbytes.optim
  adamw_8bit,
  adamw_32bit,
  paged_adamw_8bit,
  paged_adamw_32bit,
  lion_8bit,
  lion_32bit,
  paged_lion_8bit,
  paged_lion_32bit,
  ademamix_8bit,
  ademamix_32bit,
  paged_ademamix_8bit,
  paged_ademamix_32bit,
  rmsprop_8bit,
  rmsprop_32bit,
  sgd_8bit,
  sgd_32bit,
  adagrad_8bit,
  adagrad_32bit,
  lamb_32bit,
  lars_32bit,
  // packages of their own
  adafactor_hf,  ///< transformers' own
  lion,
  stable_adamw,
  schedule_free_adamw,
  schedule_free_radam,
  schedule_free_sgd,
  galore_adamw,
  galore_adamw_8bit,  ///< over bitsandbytes' states
  galore_adafactor,
  apollo_adamw,
  came,
  grokadamw,
  lomo,
  adalomo,
  adamw_torch_8bit,  ///< torchao's
  adamw_torch_4bit,
  adamw_torch_fp8,
  adamw_cpu_offload
};

/// torch's choices; `standard` is what torch picks when neither flag is given.
enum class OptimizerImpl : std::uint8_t { standard, foreach, fused, loop, deepspeed };

/// Whose code steps.
enum class OptimizerLibrary : std::uint8_t { none, torch, bitsandbytes, package };

constexpr OptimizerLibrary library_of(OptimizerKind kind) {
  if (kind == OptimizerKind::none) {
    return OptimizerLibrary::none;
  }
  if (kind < OptimizerKind::adamw_8bit) {
    return OptimizerLibrary::torch;
  }
  return kind < OptimizerKind::adafactor_hf ? OptimizerLibrary::bitsandbytes
                                            : OptimizerLibrary::package;
}

/// Which parameters an optimizer of low rank or of matrices takes; all others are updated plainly.
constexpr bool has_targets(OptimizerKind kind) {
  return kind == OptimizerKind::muon ||
         (kind >= OptimizerKind::galore_adamw && kind <= OptimizerKind::apollo_adamw);
}

/// LOMO and AdaLomo: hooks of the parameters' gradients update while the backward runs, whatever
/// step() is.
constexpr bool updates_by_hooks(OptimizerKind kind) {
  return kind == OptimizerKind::lomo || kind == OptimizerKind::adalomo;
}

struct Optimizer {
  OptimizerKind kind = OptimizerKind::adamw;
  OptimizerImpl impl = OptimizerImpl::standard;
  int param_groups = 1;         ///< 2: norms and biases in a group of their own
  bool master_weights = false;  ///< fp32 copies of low-precision parameters
  bool in_backward = false;     ///< each parameter is updated when its gradient is ready
  int rank = 128;               ///< of the projections of GaLore and APOLLO
  double weight_decay = 0;      ///< that is added to gradients; with two groups the first decays
};

/// torch 2.15 optim/: those that add the decay to copies of the gradients, while others scale the
/// parameters.
constexpr bool decays_gradients(OptimizerKind kind) {
  return library_of(kind) == OptimizerLibrary::torch && kind != OptimizerKind::adamw &&
         kind != OptimizerKind::adafactor && kind < OptimizerKind::rprop;
}

}  // namespace highwater
