// Rules of PyTorch's context_parallel() around transformers' code, in a script or by accelerate,
// and of
// ring self-attention by Colossal-AI's layer and Ulysses by DeepSpeed.
//
// Source: torch 2.15, distributed/tensor/experimental/_context_parallel/_attention.py; accelerate
// 1.15, big_modeling.py _attach_context_parallel_hooks; transformers 5.23, masking_utils.py.
#include "workloads/plan/context_parallel.hpp"

#include <algorithm>
#include <array>

#include "workloads/plan/offload.hpp"
#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool shares(const PlanFacts& f) {
  return runs_context_parallel(*f.plan);
}

bool keeps_scores(const PlanFacts& f) {
  return runs_ring_self_attention(f.plan->parallel);
}

bool exchanges(const PlanFacts& f) {
  return runs_ulysses(*f.plan);
}

bool runs_plain_loop(const PlanFacts& f) {
  return f.plan->framework == Framework::hf || f.plan->framework == Framework::torch;
}

bool checkpoints_blocks(const TrainingPlan& plan) {
  return plan.checkpoint.kind == CheckpointKind::full ||
         plan.checkpoint.kind == CheckpointKind::every_n;
}

// Without a cache the gap between a rank's chunks is taken for the end of a packed sequence.
bool makes_mask(const TrainingPlan& plan) {
  return !plan.use_cache || checkpoints_blocks(plan);
}

// As select_sdpa_backend of workloads/kernels/attention.cpp, of kernels that take all heads.
bool runs_flash(const PlanFacts& f) {
  return f.plan->gpu.major >= 8 && is_low_precision(compute_dtype(f)) && f.shape.head_dim <= 256;
}

bool runs_efficient(const PlanFacts& f) {
  const DType dtype = compute_dtype(f);
  const bool takes_heads = f.shape.heads == f.shape.kv_heads || !torch_is_before(f, {2, 14});
  return takes_heads && f.shape.head_dim % (is_low_precision(dtype) ? 8 : 4) == 0 &&
         (f.plan->gpu.major >= 8 || dtype != DType::bf16);
}

bool has_no_fused_attention(const PlanFacts& f) {
  return is_attention(f, Attention::sdpa_math) ||
         (is_attention(f, Attention::sdpa) && !runs_flash(f) && !runs_efficient(f));
}

constexpr std::array kPartsOfMask{parts::kCheckpointedBlocks, parts::kNoCache};

constexpr std::array kContextParallelRules{
    Rule{[](const PlanFacts& f) {
           return shares(f) && has_field(f.plan->model.config, FieldRole::decoder_layers);
         },
         "cp {cp}: context_parallel() balances causal attention, and the encoder of {model} is not "
         "causal; use a decoder"},
    Rule{[](const PlanFacts& f) { return shares(f) && is_attention(f, Attention::eager); },
         "cp {cp} with attention eager: a rank's tokens would see only each other, since "
         "context_parallel() replaces scaled_dot_product_attention alone; use attention sdpa and a "
         "model that has it"},
    Rule{
        [](const PlanFacts& f) { return shares(f) && has_no_fused_attention(f); },
        "cp {cp} with precision {precision} on {gpu}: context_parallel() knows the fused attention "
        "kernels only, and none of them takes this; use another precision, model or GPU, or "
        "attention sdpa"},
    Rule{[](const PlanFacts& f) {
           return shares(f) && f.plan->framework == Framework::hf && makes_mask(*f.plan);
         },
         "cp {cp} with {asked}: without a cache transformers takes a rank's positions for packed "
         "sequences and makes a mask, which context_parallel() refuses; omit {asked}, or use "
         "--framework accelerate-fsdp2, which drops the mask",
         kPartsOfMask},
    Rule{[](const PlanFacts& f) {
           return keeps_scores(f) && !(runs_plain_loop(f) && f.plan->model_code == ModelCode::hf);
         },
         "cp-kind ring-self-attention: Colossal-AI's layer is called by a plain loop; use "
         "--framework hf or torch"},
    Rule{[](const PlanFacts& f) {
           return keeps_scores(f) && f.shape.heads > 0 && family_name(f.plan->model) != "gpt2";
         },
         "cp-kind ring-self-attention: the layers around Colossal-AI's attention have LayerNorm, "
         "learned positions and gelu; use a GPT-2 model, whose sizes they take"},
    Rule{[](const PlanFacts& f) {
           const int parts = f.plan->parallel.cp;
           return keeps_scores(f) &&
                  std::ranges::any_of(f.plan->seq, [=](auto n) { return n % parts != 0; });
         },
         "cp {cp} with cp-kind ring-self-attention: every rank has an equal part of each sequence; "
         "use a seq that is a multiple of {cp}"},
    Rule{[](const PlanFacts& f) { return exchanges(f) && !uses_deepspeed(*f.plan); },
         "cp-kind {cp_kind}: Ulysses is a part of DeepSpeed; add --dp-kind zero1, zero2 or zero3, "
         "or "
         "use --framework megatron with cp-kind ulysses"},
    Rule{[](const PlanFacts& f) {
           const int ranks = f.plan->parallel.cp;
           const std::int64_t kv_heads = f.shape.kv_heads;
           return exchanges(f) && f.shape.heads > 0 &&
                  (f.shape.heads % ranks != 0 || (kv_heads % ranks != 0 && ranks % kv_heads != 0));
         },
         "cp {cp} with cp-kind {cp_kind}: the heads of {model}, or its key-value heads, cannot be "
         "spread evenly over {cp} ranks; use fewer ranks"},
    Rule{[](const PlanFacts& f) { return exchanges(f) && is_attention(f, Attention::eager); },
         "cp-kind {cp_kind} with attention eager: DeepSpeed refuses attention that needs a mask; "
         "use "
         "attention sdpa"},
    Rule{[](const PlanFacts& f) {
           const int parts = f.plan->parallel.cp;
           return exchanges(f) &&
                  std::ranges::any_of(f.plan->seq, [=](auto n) { return n % parts != 0; });
         },
         "cp {cp} with cp-kind {cp_kind}: every rank has an equal part of each sequence; use a seq "
         "that is a multiple of {cp}"},
};

bool wraps_in_layer(const PlanFacts& f) {
  return exchanges(f) && f.plan->parallel.cp_kind == ContextParallel::distributed_attention;
}

constexpr std::array kPartsOfGrid{parts::kTp, parts::kPp};

constexpr std::array kPartsOfShares{parts::kEval, parts::kLoss, parts::kOffloadActivations,
                                    parts::kMask};

constexpr Part kTrainingFramework{[](const PlanFacts& f) {
                                    return f.plan->framework != Framework::hf &&
                                           f.plan->framework != Framework::deepspeed &&
                                           f.plan->training;
                                  },
                                  "framework {framework}"};

constexpr std::array kPartsOfUlysses{kTrainingFramework, parts::kTp, parts::kPp, parts::kLoss,
                                     parts::kMask};

constexpr std::array kPartsOfRing{parts::kDp, parts::kTp, parts::kPp};

constexpr std::array kPartsOfRingLoop{parts::kEval,      parts::kCheckpoint, parts::kLora,
                                      parts::kAutocast,  parts::kLoss,       parts::kGradClip,
                                      parts::kInBackward};

constexpr std::array kContextParallelGaps{
    Rule{[](const PlanFacts& f) {
           return wraps_in_layer(f) && shape_of(f.plan->model).kv_heads % f.plan->parallel.cp != 0;
         },
         "cp {cp} with cp-kind distributed-attention: key-value heads that are not a multiple of "
         "the ranks take DeepSpeed's uneven exchange, which the simulation does not support yet; "
         "use fewer ranks, or cp-kind ulysses"},
    Rule{[](const PlanFacts& f) { return shares(f) && !is_fsdp2(f.plan->parallel); },
         "cp with transformers' models: the simulation supports it only with fully_shard over all "
         "ranks, which accelerate asks for as well; add --dp-kind fsdp2"},
    Rule{[](const PlanFacts& f) {
           return shares(f) && torch_is_before(f, {2, 12});
         },
         "cp with transformers' models: the simulation follows context_parallel() of PyTorch 2.12 "
         "and later; give --torch 2.12 or later"},
    Rule{[](const PlanFacts& f) { return shares(f); },
         "cp with {asked} and transformers' models: not supported yet by the simulation; omit one "
         "of them",
         kPartsOfGrid},
    Rule{
        [](const PlanFacts& f) {
          const int parts = 2 * f.plan->parallel.cp;
          return shares(f) &&
                 std::ranges::any_of(f.plan->seq, [=](auto length) { return length % parts != 0; });
        },
        "cp {cp}: a seq that is not a multiple of 2 * cp is not balanced over the ranks, which the "
        "simulation does not support yet; use a multiple"},
    Rule{[](const PlanFacts& f) { return shares(f); },
         "cp with {asked}: not supported yet by the simulation with transformers' models; omit "
         "{asked}",
         kPartsOfShares},
    Rule{[](const PlanFacts& f) {
           const CheckpointKind kind = f.plan->checkpoint.kind;
           return shares(f) && (kind == CheckpointKind::selective_op ||
                                kind == CheckpointKind::selective_attention);
         },
         "cp with checkpoint selective: not supported yet by the simulation with transformers' "
         "models; use full"},
    Rule{[](const PlanFacts& f) { return exchanges(f); },
         "cp-kind {cp_kind} with {asked}: not supported yet by the simulation; omit {asked}",
         kPartsOfUlysses},
    Rule{[](const PlanFacts& f) { return keeps_scores(f); },
         "cp-kind ring-self-attention with {asked}: not supported yet by the simulation; omit "
         "{asked}",
         kPartsOfRing},
    Rule{[](const PlanFacts& f) { return keeps_scores(f); },
         "cp-kind ring-self-attention with {asked}: not supported yet by the simulation; omit "
         "{asked}",
         kPartsOfRingLoop},
};

}  // namespace

std::span<const Rule> context_parallel_rules() {
  return kContextParallelRules;
}

std::span<const Rule> context_parallel_gaps() {
  return kContextParallelGaps;
}

}  // namespace highwater::plan_rules
