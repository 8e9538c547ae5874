// The rules that cross axes of a plan, one table per subject, in the order in which plan_problems()
// looks at them. Messages are reported in the order of the tables and of their rows.
#pragma once

#include <span>

#include "workloads/plan/rules/rule.hpp"

namespace highwater::plan_rules {

/// Single axes.
std::span<const Rule> range_rules();
/// @pre the model is sound
std::span<const Rule> model_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> checkpoint_rules();
std::span<const Rule> optimizer_rules();
/// Evaluation between training steps.
std::span<const Rule> evaluation_rules();
/// Loss, LoRA and how the model gets onto the device.
std::span<const Rule> loss_and_lora_rules();
/// Weights in 4 or 8 bits.
std::span<const Rule> quantization_rules();
/// torchao's float8 products.
std::span<const Rule> float8_rules();
/// Megatron-Core and NeMo.
std::span<const Rule> megatron_rules();
/// Sizes of all axes, DistributedDataParallel, DeepSpeed's options.
std::span<const Rule> parallel_rules();
/// DistributedDataParallel's communication hooks.
std::span<const Rule> ddp_rules();
/// Pipelines outside of Megatron-Core.
std::span<const Rule> pipeline_rules();
/// Tensor parallelism by DTensors.
std::span<const Rule> dtensor_rules();
/// Colossal-AI's layers over a grid of ranks.
std::span<const Rule> tensor_grid_rules();
/// context_parallel() around transformers' code.
std::span<const Rule> context_parallel_rules();
/// Both FSDPs and fully_shard alone.
std::span<const Rule> fsdp_rules();
std::span<const Rule> fsdp1_rules();
std::span<const Rule> gemini_rules();
/// What is kept in host memory.
std::span<const Rule> offload_rules();
/// torchtune's decoder and recipes. @pre the model is sound
std::span<const Rule> torchtune_rules();
/// Mixtures of experts. @pre sizes_are_sound(facts.plan->parallel)
std::span<const Rule> mixture_rules();

/// What the generator cannot do yet; checked without the model's shape.
std::span<const Rule> gap_rules();
/// The same for evaluation.
std::span<const Rule> evaluation_gaps();
/// The same for weights in 4 or 8 bits.
std::span<const Rule> quantization_gaps();
/// The same for float8 products.
std::span<const Rule> float8_gaps();
/// The same for pipelines outside of Megatron-Core.
std::span<const Rule> pipeline_gaps();
/// The same for torchtune.
std::span<const Rule> torchtune_gaps();
/// The same for grids of ranks.
std::span<const Rule> tensor_grid_gaps();
/// The same for DeepSpeed's mixtures.
std::span<const Rule> mixture_gaps();
/// The same for context_parallel().
std::span<const Rule> context_parallel_gaps();

}  // namespace highwater::plan_rules
