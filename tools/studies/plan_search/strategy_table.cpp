#include "tools/studies/plan_search/strategy_table.hpp"

#include <algorithm>
#include <array>

#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

// A program's own loop, at the base plan's precision.
void use_framework(Framework framework, TrainingPlan& plan) {
  const Precision precision = plan.precision;
  apply_framework(framework, plan);
  plan.precision = precision;
}

// What a script that means to be fast asks for; torchtitan and transformers do by themselves.
void use_fused_optimizer(TrainingPlan& plan) {
  const bool is_adam =
      plan.optimizer.kind == OptimizerKind::adamw || plan.optimizer.kind == OptimizerKind::adam;
  if (is_adam && plan.optimizer.impl == OptimizerImpl::standard) {
    plan.optimizer.impl = OptimizerImpl::fused;
  }
}

void use_script(TrainingPlan& plan) {
  use_fused_optimizer(plan);
}

void use_ddp(TrainingPlan& plan) {
  use_script(plan);
  plan.parallel.dp_kind = DataParallel::ddp;
}

void use_fsdp1(TrainingPlan& plan) {
  use_script(plan);
  plan.parallel.dp_kind = DataParallel::fsdp1;
}

// As torchtitan: no rank ever holds the whole model.
void use_fsdp2(TrainingPlan& plan) {
  use_script(plan);
  plan.parallel.dp_kind = DataParallel::fsdp2;
  plan.init = ModelInit::meta;
}

void use_fsdp2_on_host(TrainingPlan& plan) {
  use_fsdp2(plan);
  plan.parallel.offload = Offload::params;
}

// Sequence parallelism where the model's code lets PrepareModuleInput see its arguments.
void use_dtensors(TrainingPlan& plan) {
  use_script(plan);
  plan.parallel.tp_kind = TensorParallel::dtensor;
  plan.parallel.sequence_parallel = plan.parallel.tp > 1 && has_torchtitan_names(plan);
}

void use_torchtitan(TrainingPlan& plan) {
  use_framework(Framework::torchtitan, plan);
  use_fsdp2(plan);
  plan.attention = Attention::flex;  // the only one that its models have
}

// torchtitan's model with fully_shard, DTensors and torch.distributed.pipelining, and a loss of
// split logits: torchtitan of January 2025.
void use_torchtitan_model(TrainingPlan& plan) {
  use_framework(Framework::torch, plan);
  plan.model_code = ModelCode::torchtitan;
  plan.keep_logits = false;
  plan.use_cache = false;
  use_fsdp2(plan);
  use_dtensors(plan);
  plan.parallel.loss_parallel = plan.parallel.tp > 1;
  plan.loss.kind = LossKind::flat;
}

// accelerate cuts sequences as well, and checkpoints.
void use_accelerate(TrainingPlan& plan) {
  use_framework(Framework::accelerate_fsdp2, plan);
  use_fsdp2(plan);
}

template <DataParallel kind>
void use_deepspeed(TrainingPlan& plan) {
  use_framework(Framework::deepspeed, plan);
  plan.parallel.dp_kind = kind;
}

template <DataParallel kind, Offload offload>
void use_deepspeed_on_host(TrainingPlan& plan) {
  use_deepspeed<kind>(plan);
  plan.parallel.offload = offload;
}

// offload_optimizer.ratio: a half of the sub-groups stays on the GPU (ZeRO-Offload++).
void use_half_on_host(TrainingPlan& plan) {
  use_deepspeed_on_host<DataParallel::zero3, Offload::optimizer>(plan);
  plan.optimizer.impl = OptimizerImpl::deepspeed;
  plan.parallel.zero.offload_ratio = 0.5;
}

void use_nvme(TrainingPlan& plan) {
  use_deepspeed_on_host<DataParallel::zero3, Offload::both>(plan);
  plan.parallel.zero.optimizer_device = OffloadDevice::nvme;
  plan.parallel.zero.param_device = OffloadDevice::nvme;
}

// Transformer Engine's layers, as Megatron-LM has them unless told otherwise, need compute
// capability 8.0.
void use_megatron(TrainingPlan& plan) {
  use_framework(Framework::megatron, plan);
  if (plan.gpu.major >= 8) {
    plan.parallel.megatron.layers = MegatronLayers::transformer_engine;
  }
  plan.parallel.sequence_parallel = plan.parallel.tp > 1;
  plan.parallel.megatron.overlap_grad_reduce = plan.parallel.dp * plan.parallel.cp > 1;
}

void use_distributed_optimizer(TrainingPlan& plan) {
  use_megatron(plan);
  plan.parallel.dp_kind = DataParallel::zero1;
  plan.parallel.megatron.overlap_param_gather = true;
}

// Experts that tp does not split, as NVIDIA's recipes have them (Megatron Bridge,
// recipes/{qwen,deepseek}: expert_tensor_parallel_size = 1).
void use_expert_parallel(TrainingPlan& plan) {
  use_distributed_optimizer(plan);
  if (plan.parallel.tp > 1 && !plan.parallel.etp) {
    plan.parallel.etp = 1;
  }
}

void use_nemo(TrainingPlan& plan) {
  use_framework(Framework::nemo, plan);
  plan.parallel.sequence_parallel = plan.parallel.tp > 1;
}

void use_gemini(TrainingPlan& plan) {
  use_framework(Framework::colossalai_gemini, plan);
}

// LLMem's fallback; the chunks are filled from the host, since the model may be larger than a GPU.
void use_gemini_on_host(TrainingPlan& plan) {
  use_gemini(plan);
  plan.parallel.gemini.placement = GeminiPlacement::cpu;
  plan.init = ModelInit::cpu;
}

// A plain loop around Colossal-AI's GPT, whose layers are split over a grid of ranks.
template <TensorParallel kind>
void use_grid(TrainingPlan& plan) {
  use_script(plan);
  plan.parallel.tp_kind = kind;
  plan.init = ModelInit::device;
  plan.attention = Attention::eager;
  plan.use_cache = false;
}

// As many grids, one behind the other, as the largest square among the ranks leaves.
void use_deep_grid(TrainingPlan& plan) {
  use_grid<TensorParallel::colossalai_2d>(plan);
  const int side = grid_side(plan.parallel);
  plan.parallel.tp_depth = std::max(2, plan.parallel.tp / (side * side));
  use_grid<TensorParallel::colossalai_2p5d>(plan);
}

constexpr Axes kNone{};
constexpr Axes kDp = kNone | Axis::dp;
constexpr Axes kTp = kNone | Axis::tp;
constexpr Axes kModel = Axis::dp | Axis::tp | Axis::pp | Axis::cp;
constexpr StrategyTraits kInterleaved{.interleaves = true};
constexpr StrategyTraits kMixture{.interleaves = true, .is_for_mixtures = true};
constexpr StrategyTraits kOneMicroBatch{.takes_one_micro_batch = true};
constexpr StrategyTraits kOnHost{.helps_one_gpu = true};

constexpr std::array kStrategies{
    StrategyRow{"one GPU", kNone, kNone, WideStates::autocast, use_script},
    StrategyRow{"DDP", kDp, kNone, WideStates::autocast, use_ddp},
    StrategyRow{"FSDP2", kDp, kNone, WideStates::sharded, use_fsdp2},
    StrategyRow{"FSDP2, sharded within a machine (HSDP)", kDp | Axis::replicas, kNone,
                WideStates::sharded, use_fsdp2},
    StrategyRow{"FSDP2 by torchtitan", kNone, Axis::dp | Axis::cp, WideStates::sharded,
                use_torchtitan},
    StrategyRow{"FSDP2 + tensor parallel (torchtitan)", Axis::dp | Axis::tp, kNone,
                WideStates::sharded, use_torchtitan_model},
    StrategyRow{"FSDP2 + pipeline (torchtitan)", Axis::dp | Axis::pp, kTp, WideStates::sharded,
                use_torchtitan_model, kInterleaved},
    StrategyRow{"FSDP2 + context parallel (accelerate)", kNone | Axis::cp, kDp, WideStates::sharded,
                use_accelerate},
    StrategyRow{"FSDP1", kDp, kNone, WideStates::sharded, use_fsdp1},
    StrategyRow{"tensor parallel (DTensor)", kTp, kNone, WideStates::autocast, use_dtensors},
    StrategyRow{"Megatron, distributed optimizer", kNone, kModel, WideStates::engine,
                use_distributed_optimizer, kInterleaved},
    StrategyRow{"Megatron, expert parallel", kNone | Axis::ep, kModel, WideStates::engine,
                use_expert_parallel, kMixture},
    StrategyRow{"Megatron", kNone, kModel, WideStates::engine, use_megatron, kInterleaved},
    StrategyRow{"NeMo, Apex's distributed Adam", kNone, Axis::dp | Axis::tp | Axis::pp,
                WideStates::engine, use_nemo, kInterleaved},
    StrategyRow{"DeepSpeed ZeRO-3", kDp, kNone, WideStates::engine,
                use_deepspeed<DataParallel::zero3>},
    StrategyRow{"DeepSpeed ZeRO-2", kDp, kNone, WideStates::engine,
                use_deepspeed<DataParallel::zero2>},
    StrategyRow{"DeepSpeed ZeRO-1", kDp, kNone, WideStates::engine,
                use_deepspeed<DataParallel::zero1>},
    StrategyRow{"DeepSpeed without ZeRO", kDp, kNone, WideStates::engine,
                use_deepspeed<DataParallel::zero0>},
    StrategyRow{"DeepSpeed ZeRO-2, optimizer on the host", kDp, kNone, WideStates::engine,
                use_deepspeed_on_host<DataParallel::zero2, Offload::optimizer>, kOnHost},
    StrategyRow{"DeepSpeed ZeRO-3, half of the optimizer on the host", kDp, kNone,
                WideStates::engine, use_half_on_host, kOnHost},
    StrategyRow{"DeepSpeed ZeRO-3, optimizer on the host", kDp, kNone, WideStates::engine,
                use_deepspeed_on_host<DataParallel::zero3, Offload::optimizer>, kOnHost},
    StrategyRow{"DeepSpeed ZeRO-3, all on the host", kDp, kNone, WideStates::engine,
                use_deepspeed_on_host<DataParallel::zero3, Offload::both>, kOnHost},
    StrategyRow{"DeepSpeed ZeRO-3, all on NVMe", kDp, kNone, WideStates::engine, use_nvme, kOnHost},
    StrategyRow{"FSDP2, all on the host", kDp, kNone, WideStates::sharded, use_fsdp2_on_host},
    StrategyRow{"Colossal-AI Gemini", kDp, kNone, WideStates::engine, use_gemini, kOneMicroBatch},
    StrategyRow{"Colossal-AI Gemini + tensor parallel", kTp, kDp, WideStates::engine, use_gemini,
                kOneMicroBatch},
    StrategyRow{"Colossal-AI Gemini, chunks on the host", kDp, kNone, WideStates::engine,
                use_gemini_on_host, kOneMicroBatch},
    StrategyRow{"Colossal-AI 2D tensor parallel", kTp, kNone, WideStates::autocast,
                use_grid<TensorParallel::colossalai_2d>},
    StrategyRow{"Colossal-AI 2.5D tensor parallel", kTp, kNone, WideStates::autocast,
                use_deep_grid},
    StrategyRow{"Colossal-AI 3D tensor parallel", kTp, kNone, WideStates::autocast,
                use_grid<TensorParallel::colossalai_3d>},
};

}  // namespace

bool StrategyRow::takes(const Layout& layout) const {
  const Axes used = used_axes(layout);
  const bool is_one_gpu = can == Axes{} && needs == Axes{};
  if (is_one_gpu || used == Axes{}) {
    return used == Axes{} && (is_one_gpu || traits.helps_one_gpu);
  }
  return needs.within(used) && used.within({needs.bits | can.bits});
}

std::span<const StrategyRow> strategy_table() {
  return kStrategies;
}

std::vector<const StrategyRow*> strategies_called(std::string_view name) {
  std::vector<const StrategyRow*> called;
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) {
      return {&row};
    }
    if (row.name.find(name) != std::string_view::npos) {
      called.push_back(&row);
    }
  }
  return called;
}

}  // namespace highwater
