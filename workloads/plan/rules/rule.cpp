#include "workloads/plan/rules/rule.hpp"

#include <algorithm>

#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
bool is_a_size(int size) {
  return size >= 1 && size <= kMostGpus;
}

DType compute_dtype(const PlanFacts& f) {
  const Parallelism& p = f.plan->parallel;
  const DType own = compute_dtype(f.plan->precision);
  return is_sharded(p) && own == DType::fp32 ? p.fsdp.param_dtype.value_or(own) : own;
}

bool has_sdpa(const TrainingPlan& plan) {
  const FamilyTraits& traits = plan.model.config.family().traits;
  return traits.sdpa && release_of(plan.versions.transformers) >= traits.sdpa_since;
}

bool is_attention(const PlanFacts& f, Attention attention) {
  return f.plan->attention == attention;
}

bool is_any(OptimizerKind kind, std::initializer_list<OptimizerKind> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool is_before(std::string_view text, Release release) {
  return release_of(text) < release;
}

bool torch_is_before(const PlanFacts& f, Release release) {
  return is_before(f.plan->versions.torch, release);
}

bool is_ddp(const Parallelism& p) {
  return p.dp > 1 && p.dp_kind == DataParallel::ddp;
}

bool runs_megatron(const PlanFacts& f) {
  return f.plan->model_code == ModelCode::megatron;
}

bool is_gemini(const PlanFacts& f) {
  return f.plan->framework == Framework::colossalai_gemini;
}

bool is_sharded(const Parallelism& p) {
  return is_fsdp1(p) || is_fsdp2(p);
}

bool is_dtensor_parallel(const Parallelism& p) {
  return p.tp > 1 && p.tp_kind == TensorParallel::dtensor;
}

bool sizes_are_sound(const Parallelism& p) {
  return is_a_size(p.dp) && is_a_size(p.tp) && is_a_size(p.pp) && is_a_size(p.cp) &&
         is_a_size(p.ep) && is_a_size(p.chunks);
}

}  // namespace highwater::plan_rules
