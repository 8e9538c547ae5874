// Parts of a plan that rules name where the plan has them, each in the words of its option.
#pragma once

#include "workloads/plan/offload.hpp"
#include "workloads/plan/rules/rule.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules::parts {

inline constexpr Part kTp{[](const PlanFacts& f) { return f.plan->parallel.tp > 1; }, "tp"};
inline constexpr Part kPp{[](const PlanFacts& f) { return f.plan->parallel.pp > 1; }, "pp"};
inline constexpr Part kDp{[](const PlanFacts& f) { return f.plan->parallel.dp > 1; }, "dp"};
inline constexpr Part kCp{[](const PlanFacts& f) { return f.plan->parallel.cp > 1; }, "cp"};
inline constexpr Part kEp{[](const PlanFacts& f) { return f.plan->parallel.ep > 1; }, "ep"};
inline constexpr Part kReplicas{
    [](const PlanFacts& f) { return f.plan->parallel.fsdp.replicas > 1; }, "dp-replicate"};
inline constexpr Part kOffloadActivations{
    [](const PlanFacts& f) { return saves_on_cpu(f.plan->parallel); }, "offload activations"};

inline constexpr Part kFramework{
    [](const PlanFacts& f) { return f.plan->framework != Framework::hf; }, "framework {framework}"};
inline constexpr Part kEval{[](const PlanFacts& f) { return !f.plan->training; }, "mode eval"};
inline constexpr Part kAutocast{[](const PlanFacts& f) { return is_autocast(f.plan->precision); },
                                "precision {precision}"};
inline constexpr Part kAmpFp16{
    [](const PlanFacts& f) { return f.plan->precision == Precision::amp_fp16; },
    "precision amp-fp16"};
inline constexpr Part kCheckpoint{
    [](const PlanFacts& f) { return f.plan->checkpoint.kind != CheckpointKind::none; },
    "checkpoint"};
inline constexpr Part kCheckpointedBlocks{
    [](const PlanFacts& f) {
      return f.plan->checkpoint.kind == CheckpointKind::full ||
             f.plan->checkpoint.kind == CheckpointKind::every_n;
    },
    "checkpoint"};
inline constexpr Part kMask{
    [](const PlanFacts& f) { return f.plan->attention_mask != AttentionMask::none; },
    "attention-mask"};
inline constexpr Part kCache{[](const PlanFacts& f) { return f.plan->use_cache; }, "use-cache"};
inline constexpr Part kNoCache{[](const PlanFacts& f) { return !f.plan->use_cache; },
                               "use-cache false"};
inline constexpr Part kKeptLogits{[](const PlanFacts& f) { return f.plan->keep_logits; },
                                  "keep-logits"};

inline constexpr Part kLoss{[](const PlanFacts& f) { return f.plan->loss.kind != LossKind::hf; },
                            "loss {loss}"};
inline constexpr Part kLossWithoutLogits{[](const PlanFacts& f) {
                                           return fuses_head(f.plan->loss.kind) ||
                                                  f.plan->loss.kind == LossKind::chunked;
                                         },
                                         "loss {loss}"};
inline constexpr Part kLora{[](const PlanFacts& f) { return f.plan->lora.rank > 0; }, "lora"};
inline constexpr Part kQuantized{
    [](const PlanFacts& f) { return is_quantized(f.plan->quantization); }, "quantize"};

inline constexpr Part kInit{[](const PlanFacts& f) { return f.plan->init != ModelInit::device; },
                            "init {init}"};
inline constexpr Part kInitCpu{[](const PlanFacts& f) { return f.plan->init == ModelInit::cpu; },
                               "init cpu"};
inline constexpr Part kInitHalf{
    [](const PlanFacts& f) { return f.plan->init == ModelInit::pretrained_half; },
    "init pretrained-half"};

inline constexpr Part kGradClip{[](const PlanFacts& f) { return f.plan->grad_clip.has_value(); },
                                "grad-clip"};
inline constexpr Part kKeepsGradients{[](const PlanFacts& f) { return !f.plan->set_to_none; },
                                      "set-to-none false"};
inline constexpr Part kMasterWeights{
    [](const PlanFacts& f) { return f.plan->optimizer.master_weights; }, "master-weights"};
inline constexpr Part kInBackward{[](const PlanFacts& f) { return f.plan->optimizer.in_backward; },
                                  "optimizer-in-backward"};
inline constexpr Part kAdafactor{
    [](const PlanFacts& f) { return f.plan->optimizer.kind == OptimizerKind::adafactor; },
    "optimizer adafactor"};

}  // namespace highwater::plan_rules::parts
