// Rules about pipelines outside Megatron-Core: torch.distributed.pipelining, and a model that one
// process spreads over its GPUs; and what the generator does not support there.
#include <algorithm>
#include <array>

#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/pipeline/torch_schedule.hpp"
#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool is_torch_pipeline(const PlanFacts& f) {
  return f.plan->parallel.pp > 1 && !runs_megatron(f);
}

bool has_interleaved_schedule(const Parallelism& p) {
  return p.schedule == PipelineSchedule::interleaved;
}

bool has_stages(const PlanFacts& f) {
  return f.plan->model.config.family().traits.pipeline_stages;
}

bool is_naive(const PlanFacts& f) {
  return is_torch_pipeline(f) && f.plan->parallel.schedule == PipelineSchedule::naive;
}

/// Whether stages pass on hidden states, one process each.
bool has_staged_pipeline(const PlanFacts& f) {
  return is_torch_pipeline(f) && !is_naive(f);
}

bool can_be_spread(const PlanFacts& f) {
  return f.plan->model_code == ModelCode::hf && !has_torchtitan_names(*f.plan) &&
         f.plan->experts != Experts::deepspeed;
}

constexpr std::array kPartsOfNaive{parts::kDp, parts::kTp};

constexpr std::array kPipelineRules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_torch_pipeline(f) && has_interleaved_schedule(p) && f.plan->grad_accum > 0 &&
                  !pipelining::fits_rounds(f.plan->grad_accum, p.pp);
         },
         "pp-schedule interleaved: micro-batches pass through the {pp} stages in grad-accum / "
         "{pp} rounds (rounded down) of equal size; use a --grad-accum that is a multiple of the "
         "number of rounds"},
    Rule{[](const PlanFacts& f) {
           const std::vector<std::int64_t>& seq = f.plan->seq;
           const bool varies = std::ranges::adjacent_find(seq, std::not_equal_to<>{}) != seq.end();
           return has_staged_pipeline(f) && varies;
         },
         "pp: receive buffers are allocated once, for one shape; use a single --seq"},
    Rule{[](const PlanFacts& f) { return has_staged_pipeline(f) && f.plan->use_cache; },
         "use-cache with pp: stages pass on only hidden states; omit one of them"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.pp > 1 && !is_naive(f) &&
                  f.plan->zero_grad_at == ZeroGradAt::backward;
         },
         "zero-grad-at backward with pp: a schedule runs forwards and backwards in turn; use start "
         "or end"},
    Rule{[](const PlanFacts& f) { return is_torch_pipeline(f) && f.plan->parallel.no_sync; },
         "no-sync with pp: a stage reduces gradients only in the step's last micro-batch anyway; "
         "omit no-sync"},
    Rule{[](const PlanFacts& f) {
           return is_torch_pipeline(f) && is_ddp(f.plan->parallel) &&
                  f.plan->parallel.ddp.static_graph;
         },
         "static-graph with pp: stages call DistributedDataParallel only within no_sync(), so it "
         "never learns the graph; omit static-graph"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_torch_pipeline(f) && is_dtensor_parallel(p) && !p.loss_parallel;
         },
         "pp with tp: the last stage's backward_one_chunk detaches the logits in place, which are "
         "a view unless they stay a DTensor (PyTorch 2.6: \"Can't detach views in-place\"); add "
         "--loss-parallel"},
    Rule{[](const PlanFacts& f) { return is_naive(f); },
         "pp-schedule naive with {asked}: one process drives all GPUs; use gpipe, 1f1b or "
         "interleaved, or omit {asked}",
         kPartsOfNaive},
};

constexpr std::array kPartsOfStages{
    Part{[](const PlanFacts& f) { return f.plan->parallel.ddp.find_unused; },
         "find-unused-parameters"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.ddp.comm_hook != DdpCommHook::none; },
         "ddp-comm-hook"}};

constexpr std::array kPartsOfLoop{parts::kLora, parts::kInBackward, parts::kLossWithoutLogits,
                                  parts::kInitHalf};

constexpr std::array kPartsOfOutputs{parts::kMask, parts::kKeptLogits};

constexpr std::array kPipelineGaps{
    Rule{[](const PlanFacts& f) {
           return is_torch_pipeline(f) && f.plan->framework != Framework::torch &&
                  f.plan->framework != Framework::hf;
         },
         "pp: the simulation supports only the pipelines of PyTorch and Megatron-Core; use "
         "--framework torch or megatron, or try 'highwater estimate'"},
    Rule{[](const PlanFacts& f) { return has_staged_pipeline(f) && !has_stages(f); },
         "pp: the simulation splits GPT-2, LLaMA-like and torchtitan models into stages, and "
         "others only with --model-code megatron; use one of these, omit pp, or try 'highwater "
         "estimate'"},
    Rule{[](const PlanFacts& f) { return is_naive(f) && !can_be_spread(f); },
         "pp-schedule naive: accelerate spreads models of transformers; use --model-code hf with "
         "its own experts, or gpipe, 1f1b or interleaved"},
    Rule{[](const PlanFacts& f) { return is_naive(f) && f.plan->precision == Precision::amp_fp16; },
         "precision amp-fp16 with pp-schedule naive: a GradScaler with parameters on several GPUs "
         "is not supported yet by the simulation; use amp-bf16, bf16 or fp32"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_torch_pipeline(f) && p.dp > 1 && !is_ddp(p) && !is_fsdp2(p);
         },
         "pp with dp-kind {dp_kind}: a stage of PyTorch 2.6 supports only DistributedDataParallel "
         "and fully_shard; use dp-kind ddp or fsdp2"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_torch_pipeline(f) && is_fsdp2(p) && p.fsdp.replicas > 1;
         },
         "dp-replicate with pp: not supported yet by the simulation; omit one of them"},
    Rule{[](const PlanFacts& f) { return is_torch_pipeline(f) && is_ddp(f.plan->parallel); },
         "{asked} with pp: not supported yet by the simulation; omit {them}", kPartsOfStages},
    Rule{[](const PlanFacts& f) {
           return is_torch_pipeline(f) && is_dtensor_parallel(f.plan->parallel) &&
                  !has_torchtitan_names(*f.plan);
         },
         "pp with tp: the simulation supports this only for torchtitan's models; use --model-code "
         "torchtitan or megatron"},
    Rule{[](const PlanFacts& f) {
           return is_torch_pipeline(f) && f.plan->parallel.offload != Offload::none;
         },
         "offload with pp: not supported yet by the simulation; omit one of them"},
    Rule{
        [](const PlanFacts& f) { return has_staged_pipeline(f) && is_autocast(f.plan->precision); },
        "precision {precision} with pp: a schedule's step would run both forward and backward "
        "under autocast, which the simulation does not support; use fp32 or bf16"},
    Rule{[](const PlanFacts& f) { return has_staged_pipeline(f) && !f.plan->training; },
         "mode eval with pp: not supported yet by the simulation; omit one of them"},
    Rule{[](const PlanFacts& f) { return is_torch_pipeline(f); },
         "pp with {asked}: not supported yet by the simulation; omit pp, or {asked}", kPartsOfLoop},
    Rule{[](const PlanFacts& f) { return has_staged_pipeline(f); },
         "{asked} with pp: not supported yet by the simulation unless pp-schedule is naive; omit "
         "{them}",
         kPartsOfOutputs},
};

}  // namespace

std::span<const Rule> pipeline_rules() {
  return kPipelineRules;
}

std::span<const Rule> pipeline_gaps() {
  return kPipelineGaps;
}

}  // namespace highwater::plan_rules
