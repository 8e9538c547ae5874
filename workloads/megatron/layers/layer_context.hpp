// What the parts of one Megatron-Core model share: sizes and the groups of ranks. The model owns
// them and outlives its parts.
#pragma once

#include "workloads/megatron/context/context_parallel.hpp"
#include "workloads/megatron/layers/expert_parallel.hpp"
#include "workloads/megatron/layers/tensor_parallel.hpp"
#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

/// What all layers of one model share.
struct LayerContext {
  const Config& config;
  TensorParallel& tp;
  ContextParallelGroup& cp;
  ExpertParallel& experts;
  int expert_tp;  ///< ranks among which each expert is split
};

}  // namespace highwater::megatron
