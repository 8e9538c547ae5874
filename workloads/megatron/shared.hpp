// What the parts of one model of Megatron-Core have in common: sizes and the groups of ranks. The
// model owns them and outlives its parts.
#pragma once

#include "workloads/megatron/config.hpp"
#include "workloads/megatron/context_parallel.hpp"
#include "workloads/megatron/expert_parallel.hpp"
#include "workloads/megatron/tensor_parallel.hpp"

namespace highwater::megatron {

/// What all layers of one model share.
struct Shared {
  const Config& config;
  TensorParallel& tp;
  ContextParallelGroup& cp;
  ExpertParallel& experts;
};

}  // namespace highwater::megatron
