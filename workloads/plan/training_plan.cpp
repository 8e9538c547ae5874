#include "workloads/plan/training_plan.hpp"

#include "workloads/plan/context_parallel.hpp"

namespace highwater {

// accelerate 1.15, accelerator.py: prepare_model has the autocast, _prepare_fsdp2 does without. trl
// 1.16, trainer/base_config.py __post_init__: bf16=True whatever the model's type is.
bool runs_autocast(const TrainingPlan& plan) {
  const bool is_sharded_model = runs_accelerate(plan.framework) && is_fsdp2(plan.parallel);
  const bool is_narrow_sft = runs_trl(plan.framework) && plan.precision == Precision::bf16;
  return (is_autocast(plan.precision) || is_narrow_sft) && !is_sharded_model;
}

bool uses_deepspeed(const TrainingPlan& plan) {
  const DataParallel kind = plan.parallel.dp_kind;
  const bool is_stage = kind == DataParallel::zero0 || kind == DataParallel::zero1 ||
                        kind == DataParallel::zero2 || kind == DataParallel::zero3;
  const bool has_engine = plan.parallel.dp > 1 || plan.framework == Framework::deepspeed ||
                          runs_trainer(plan.framework) || runs_ulysses(plan);
  return is_stage && has_engine && plan.model_code != ModelCode::megatron &&
         plan.framework != Framework::colossalai_gemini;
}

bool trains_adapters(const TrainingPlan& plan) {
  return plan.lora.rank > 0 || !plan.peft.empty();
}

bool runs_megatron_core(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::megatron;
}

bool has_torchtitan_names(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtitan ||
         plan.model.config.family().traits.torchtitan_style;
}

bool has_own_targets(const TrainingPlan& plan) {
  return has_field(plan.model.config, FieldRole::decoder_layers);
}

std::int64_t sequence_length(const TrainingPlan& plan, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(plan.seq.size());
  return plan.seq[static_cast<std::size_t>(index % count)];
}

}  // namespace highwater
