// Which parameters an optimizer of matrices takes: those of GaLore and APOLLO are the weights of
// nn.Linear (transformers' trainer_optimizer.py: _setup_low_rank_optimizer with all-linear), those
// of Muon all matrices of the layers, embeddings and the head left out (the advice of
// torch/optim/_muon.py; Megatron-Core 0.19.2, core/optimizer/emerging_optimizers.py:
// _is_nonlinear_or_embedding).
#pragma once

#include "workloads/nn/module.hpp"
#include "workloads/plan/optimizer.hpp"

namespace highwater {

struct TrainingPlan;

/// Marks them (TensorImpl::is_target), before the model is wrapped.
void mark_optimizer_targets(nn::Module& model, OptimizerKind kind);

/// transformers 5.24, trainer.py create_optimizer: embeddings keep states of 32 bit beside the 8 of
/// an optimizer of bitsandbytes (GlobalOptimManager), so they are what these have as targets.
void mark_wide_states(nn::Module& model, const TrainingPlan& plan);

}  // namespace highwater
