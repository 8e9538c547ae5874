// Rules of torchao's float8 training (torchao 0.18), and what of it the simulation lacks.
#include <algorithm>
#include <array>

#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::int64_t kMultiple = 16;  ///< of torch._scaled_mm's dimensions

/// Gradients of weights are summed over the tokens of a micro-batch.
bool has_odd_tokens(const TrainingPlan& plan) {
  return std::ranges::any_of(plan.seq,
                             [&](std::int64_t seq) { return plan.batch * seq % kMultiple != 0; });
}

bool has_float8_kernels(const Gpu& gpu) {
  return gpu.major > 8 || (gpu.major == 8 && gpu.minor == 9);
}

/// One GPU, or each rank with whole layers that DDP or fully_shard wraps.
bool has_whole_layers(const Parallelism& p) {
  return p.gpus() == p.dp && (p.dp == 1 || p.dp_kind == DataParallel::ddp || is_fsdp2(p));
}

bool runs_plain_loop(Framework framework) {
  return framework == Framework::hf || framework == Framework::torch;
}

constexpr std::array kFloat8Rules{
    Rule{[](const PlanFacts& f) { return f.plan->float8 && !has_float8_kernels(f.plan->gpu); },
         "float8 on this GPU: torch._scaled_mm needs compute capability 8.9 or 9.0 and higher; use "
         "an H100, H200, L40S or newer (--gpu h100-80), or omit it"},
    Rule{[](const PlanFacts& f) {
           return f.plan->float8 && f.plan->training && has_odd_tokens(*f.plan);
         },
         "float8: torch._scaled_mm refuses a number of tokens that is no multiple of 16; change "
         "batch or seq"},
    Rule{[](const PlanFacts& f) { return f.plan->float8 && is_quantized(f.plan->quantization); },
         "float8 with quantize: quantised layers have products of their own; use one of them"},
};

constexpr std::array kFloat8Gaps{
    Rule{[](const PlanFacts& f) {
           return f.plan->float8 &&
                  (f.plan->model_code != ModelCode::hf || !runs_plain_loop(f.plan->framework));
         },
         "float8 with this framework: the simulation has it in plain loops around transformers' "
         "models (--framework hf or torch); use --engine torch, or omit it"},
    Rule{[](const PlanFacts& f) {
           return f.plan->float8 && has_field(f.plan->model.config, FieldRole::experts);
         },
         "float8 with a mixture of experts: not supported yet by the simulation; use --engine "
         "torch, or omit it"},
    Rule{[](const PlanFacts& f) { return f.plan->float8 && f.plan->lora.rank > 0; },
         "float8 with lora: not supported yet by the simulation; use --engine torch, or omit one "
         "of them"},
    Rule{[](const PlanFacts& f) { return f.plan->float8 && !has_whole_layers(f.plan->parallel); },
         "float8 over several GPUs: the simulation has it with DDP and fully_shard only; use "
         "--dp-kind ddp or fsdp2, or --engine torch"},
};

}  // namespace

std::span<const Rule> float8_rules() {
  return kFloat8Rules;
}

std::span<const Rule> float8_gaps() {
  return kFloat8Gaps;
}

}  // namespace highwater::plan_rules
