// What real programs can do and the generator cannot do yet: a row is deleted once the generator
// supports it. Closed forms may still apply to such a plan.
#include <array>

#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/classification.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

// Which kinds of data parallelism the generator supports, by model code.
bool knows_data_parallel(const PlanFacts& f) {
  const DataParallel kind = f.plan->parallel.dp_kind;
  if (runs_megatron(f)) {
    return kind == DataParallel::ddp || kind == DataParallel::zero1;
  }
  return kind == DataParallel::ddp || kind == DataParallel::fsdp1 || kind == DataParallel::fsdp2 ||
         uses_deepspeed(*f.plan) || is_gemini(f);
}

// Those whose steps on parts of parameters were not looked at.
bool is_of_one_gpu(OptimizerKind kind) {
  return library_of(kind) == OptimizerLibrary::package ||
         (kind >= OptimizerKind::nadam && kind <= OptimizerKind::muon);
}

/// A script's own loop around a model of transformers.
bool runs_plain_loop_of_hf(const TrainingPlan& plan) {
  const bool is_plain_loop = plan.framework == Framework::hf ||
                             plan.framework == Framework::torch ||
                             plan.framework == Framework::accelerate;
  return is_plain_loop && plan.model_code == ModelCode::hf;
}

// torch's Muon on DTensors chooses layouts by rules of 2.15 (optim/dtensor_matrix.hpp), in plain
// loops over meshes of one dimension on the GPU.
bool follows_sharded_muon(const PlanFacts& f) {
  const Parallelism& p = f.plan->parallel;
  const bool is_plain_loop =
      f.plan->framework == Framework::hf || f.plan->framework == Framework::torch;
  return is_plain_loop && is_fsdp2(p) && p.fsdp.replicas == 1 && p.tp == 1 && p.cp == 1 &&
         p.pp == 1 && !offloads_params(p) && !torch_is_before(f, {2, 15});
}

constexpr std::array kPartsOfSequences{parts::kCp, parts::kEp};

constexpr std::array kPartsOfTorchtitan{
    parts::kPp, Part{[](const PlanFacts& f) {
                       return f.plan->parallel.tp > 1 && !f.plan->parallel.sequence_parallel;
                     },
                     "tp without sp"}};

constexpr std::array kPartsOfTpAndDp{parts::kAmpFp16, parts::kReplicas, parts::kInitCpu};

constexpr std::array kPartsOfTp{parts::kLora, parts::kMasterWeights, parts::kInBackward,
                                parts::kLossWithoutLogits, parts::kInitHalf};

constexpr std::array kPartsOfFsdpOffload{parts::kTp, Part{[](const PlanFacts& f) {
                                                            return is_fsdp1(f.plan->parallel) &&
                                                                   f.plan->init == ModelInit::meta;
                                                          },
                                                          "init meta"}};

constexpr std::array kPartsOfHostStep{parts::kAmpFp16, parts::kAdafactor};

constexpr std::array kPartsOfFsdp1Offload{Part{[](const PlanFacts& f) {
                                                 return f.plan->parallel.fsdp.strategy ==
                                                        ShardingStrategy::no_shard;
                                               },
                                               "strategy no_shard"},
                                          parts::kInBackward};

constexpr std::array kPartsOfHooks{parts::kPp,
                                   Part{[](const PlanFacts& f) {
                                          return f.plan->optimizer.kind == OptimizerKind::adalomo &&
                                                 f.plan->lora.rank > 0;
                                        },
                                        "lora, as it has states of frozen parameters as well"}};

constexpr std::array kPartsOfClassification{
    Part{[](const PlanFacts& f) { return !runs_plain_loop_of_hf(*f.plan); },
         "framework {framework}"},
    parts::kLoss,
    parts::kTp,
    parts::kCp,
    Part{[](const PlanFacts& f) {
           return f.plan->parallel.pp > 1 && !pipelining::is_naive(f.plan->parallel);
         },
         "pp"},
    parts::kLora,
    parts::kQuantized,
    Part{[](const PlanFacts& f) { return f.plan->experts == Experts::deepspeed; },
         "experts deepspeed"}};

/// A script's own loop, or transformers' Trainer, around a model of transformers.
bool freezes_modules(const TrainingPlan& plan) {
  return runs_plain_loop_of_hf(plan) || plan.framework == Framework::trainer;
}

constexpr std::array kPartsOfFreezing{
    Part{[](const PlanFacts& f) { return !freezes_modules(*f.plan); }, "framework {framework}"},
    parts::kCheckpoint,
    Part{[](const PlanFacts& f) { return f.plan->parallel.dp > 1; }, "dp {dp}"},
    parts::kTp,
    parts::kPp,
    parts::kCp,
    parts::kQuantized};

bool has_encoder(const PlanFacts& f) {
  return family_name(f.plan->model) == "bert" ||
         has_field(f.plan->model.config, FieldRole::decoder_layers);
}

constexpr std::array kPartsOfCopies{
    Part{[](const PlanFacts& f) { return f.plan->parallel.dp > 1 && !is_ddp(f.plan->parallel); },
         "dp-kind {dp_kind}"},
    parts::kTp,
    parts::kPp,
    parts::kCp,
    parts::kEp,
    parts::kQuantized,
    Part{[](const PlanFacts& f) { return runs_megatron(f) || is_gemini(f); },
         "framework {framework}"}};

constexpr std::array kGeneratorGaps{
    Rule{[](const PlanFacts& f) { return f.plan->ema; },
         "ema with {asked}: the simulation copies models that are whole on each GPU; omit it",
         kPartsOfCopies},
    Rule{[](const PlanFacts& f) {
           return f.plan->attention_mask == AttentionMask::padded && has_encoder(f);
         },
         "attention-mask padded: the simulation lacks padded batches of models with an encoder; "
         "use --engine torch, or full"},
    Rule{[](const PlanFacts& f) {
           return f.plan->model.labels > 0 && !can_classify(family_name(f.plan->model));
         },
         "num-labels: the simulation has no ...ForSequenceClassification of this family; use "
         "--engine torch, or num-labels 0"},
    Rule{[](const PlanFacts& f) { return f.plan->model.labels > 0; },
         "num-labels with {asked}: the simulation has ...ForSequenceClassification in plain loops "
         "around transformers' models; omit {asked}, or use num-labels 0",
         kPartsOfClassification},
    Rule{
        [](const PlanFacts& f) { return adapts_experts(*f.plan); },
        "lora-targets all-linear, or layers of experts or the router, with this mixture: PEFT puts "
        "adapters on all experts' parameters, which the simulation lacks; use --engine torch, or "
        "name layers of attention only (--lora-targets q_proj,k_proj,v_proj,o_proj)"},
    Rule{[](const PlanFacts& f) {
           return runs_trl(f.plan->framework) && f.plan->framework != Framework::trl_sft;
         },
         "framework {framework}: the simulation has no second model, no pairs of texts and no "
         "generation; use --engine torch, which runs TRL itself"},
    Rule{[](const PlanFacts& f) { return !f.plan->peft.empty(); },
         "peft: the simulation has LoRA and DoRA of one rank only; use --engine torch, which runs "
         "PEFT itself, or --lora"},
    Rule{[](const PlanFacts& f) { return !f.plan->frozen.empty(); },
         "freeze with {asked}: the simulation freezes modules of transformers' models that are "
         "whole on one GPU, without checkpointing; omit {asked}, or use --engine torch",
         kPartsOfFreezing},
    Rule{[](const PlanFacts& f) { return f.plan->optimizer.kind == OptimizerKind::lbfgs; },
         "optimizer lbfgs: the simulation runs a model once a micro-batch, which it does several "
         "times a step; use --engine torch"},
    Rule{[](const PlanFacts& f) { return f.plan->teacher.has_value(); },
         "teacher: the simulation has no second model; use --engine torch"},
    Rule{[](const PlanFacts& f) { return f.plan->loss.kind == LossKind::contrastive; },
         "loss contrastive: the simulation encodes no pairs of texts; use --engine torch"},
    Rule{[](const PlanFacts& f) { return f.plan->compile; },
         "compile: the simulation runs models eagerly, and a compiled one takes other memory; use "
         "--engine torch, or omit it"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_recent_torchtitan(*f.plan) && (p.pp > 1 || (p.tp > 1 && !p.sequence_parallel));
         },
         "torchtitan 0.3 with {asked}: not supported yet by the simulation; use --torchtitan 0.0",
         kPartsOfTorchtitan},
    Rule{[](const PlanFacts& f) {
           return is_recent_torchtitan(*f.plan) && f.plan->loss.kind != LossKind::chunked;
         },
         "torchtitan 0.3: the simulation has its loss in chunks only; use loss chunked-8"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool shares_sequences =
               is_recent_torchtitan(*f.plan) || f.plan->framework == Framework::hf ||
               runs_ulysses(*f.plan) || f.plan->framework == Framework::accelerate_fsdp2;
           const bool is_mixture = f.plan->experts == Experts::deepspeed && p.cp == 1;
           const bool is_known = runs_megatron(f) || (shares_sequences && p.ep == 1) || is_mixture;
           return (p.cp > 1 || p.ep > 1) && !is_known;
         },
         "{asked}: the simulation supports these only for Megatron-Core's model, and cp for "
         "torchtitan 0.3, accelerate and plain loops; use --framework megatron, torchtitan, "
         "accelerate-fsdp2 or hf, omit {them}, or try 'highwater estimate'",
         kPartsOfSequences},
    Rule{[](const PlanFacts& f) {
           return f.plan->framework == Framework::nemo && f.plan->parallel.ep > 1;
         },
         "ep with framework nemo: Apex's optimizer is modelled for a single group of ranks; use "
         "--framework megatron"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.tp > 1 && f.plan->model_code != ModelCode::torchtune &&
                  !runs_megatron(f) && !is_gemini(f) && !is_recent_torchtitan(*f.plan) &&
                  !is_dtensor_parallel(f.plan->parallel) && !splits_over_grid(f.plan->parallel);
         },
         "tp: the simulation does not support this kind of tensor parallelism with this model "
         "code; use --tp-kind dtensor or --framework megatron, or try 'highwater estimate'"},
    Rule{[](const PlanFacts& f) { return f.plan->parallel.dp > 1 && !knows_data_parallel(f); },
         "dp-kind: the simulation does not support this kind of data parallelism with this "
         "framework and model code; use another kind, omit --dp, or try 'highwater estimate'"},
    Rule{[](const PlanFacts& f) {
           return is_dtensor_parallel(f.plan->parallel) &&
                  !f.plan->model.config.family().traits.tensor_parallel &&
                  !has_torchtitan_names(*f.plan);
         },
         "tp with tp-kind dtensor: the simulation supports this only for LLaMA-like models; use "
         "one of them"},
    Rule{[](const PlanFacts& f) {
           return is_dtensor_parallel(f.plan->parallel) &&
                  f.plan->model.config.family().traits.scaled_embedding;
         },
         "tp with tp-kind dtensor: Gemma's embedding, which scales a sum over the ranks, is not "
         "supported yet by the simulation; use another model"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.loss_parallel && f.plan->loss.kind == LossKind::shift;
         },
         "loss shift with loss-parallel: not supported yet by the simulation; use loss flat"},
    Rule{
        [](const PlanFacts& f) {
          const Parallelism& p = f.plan->parallel;
          return is_dtensor_parallel(p) && p.dp > 1 && !is_fsdp2(p);
        },
        "tp with dp-kind {dp_kind}: the simulation has tensor parallelism beside fully_shard only; "
        "use dp-kind fsdp2, or omit tp or dp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && p.dp > 1;
         },
         "{asked} with tp and dp: not supported yet by the simulation; omit {them}",
         kPartsOfTpAndDp},
    Rule{[](const PlanFacts& f) { return is_dtensor_parallel(f.plan->parallel); },
         "tp with {asked}: not supported yet by the simulation; omit tp, or {asked}", kPartsOfTp},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_zero3 = uses_deepspeed(*f.plan) && p.dp_kind == DataParallel::zero3;
           return offloads_params(p) && !is_sharded(p) && !is_zero3;
         },
         "offload {offload}: only FSDP and ZeRO-3 offload parameters; add --dp with dp-kind fsdp1, "
         "fsdp2 or zero3"},
    Rule{[](const PlanFacts& f) {
           const bool is_other = runs_megatron(f) || is_gemini(f);
           return is_other && f.plan->parallel.offload != Offload::none;
         },
         "offload with framework {framework}: not supported yet by the simulation; omit it"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.offload == Offload::optimizer && !uses_deepspeed(*f.plan);
         },
         "offload optimizer: the simulation supports this only for DeepSpeed; use dp-kind zero1, "
         "zero2 or zero3"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return saves_on_cpu(p) && uses_deepspeed(*f.plan);
         },
         "offload activations with ZeRO: not supported yet by the simulation; use ddp or FSDP"},
    Rule{[](const PlanFacts& f) { return fsdp_offloads(f.plan->parallel); },
         "offload {offload} with {asked}: not supported yet by the simulation; omit one of them",
         kPartsOfFsdpOffload},
    Rule{[](const PlanFacts& f) { return fsdp_offloads(f.plan->parallel); },
         "{asked} with offload {offload}: not supported yet by the simulation; change {them}, or "
         "omit offload",
         kPartsOfHostStep},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return fsdp_offloads(p) && is_fsdp1(p);
         },
         "{asked} with fsdp1 and offload {offload}: not supported yet by the simulation; omit one "
         "of them",
         kPartsOfFsdp1Offload},
    Rule{[](const PlanFacts& f) {
           return uses_deepspeed(*f.plan) && is_autocast(f.plan->precision);
         },
         "precision {precision} with DeepSpeed's ZeRO: DeepSpeed has its own mixed precision; use "
         "bf16 or fp16"},
    Rule{[](const PlanFacts& f) {
           const Optimizer& o = f.plan->optimizer;
           return uses_deepspeed(*f.plan) &&
                  (o.in_backward || o.master_weights || o.kind == OptimizerKind::none ||
                   o.kind == OptimizerKind::adafactor || o.kind == OptimizerKind::adagrad ||
                   library_of(o.kind) == OptimizerLibrary::bitsandbytes || is_of_one_gpu(o.kind));
         },
         "optimizer with DeepSpeed's ZeRO: DeepSpeed keeps its own fp32 copies and updates flat "
         "partitions of them; use adamw, adam, sgd, sgd-momentum or rmsprop without "
         "optimizer-in-backward and master-weights"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_sharded = is_fsdp1(p) || is_fsdp2(p) || is_dtensor_parallel(p);
           return is_sharded && is_of_one_gpu(f.plan->optimizer.kind) &&
                  f.plan->optimizer.kind != OptimizerKind::muon;
         },
         "optimizer {optimizer} with shards of the parameters: not supported yet by the "
         "simulation; record the script instead (highwater record), or use ddp"},
    Rule{
        [](const PlanFacts& f) {
          const Parallelism& p = f.plan->parallel;
          const bool is_sharded = is_fsdp1(p) || is_fsdp2(p) || is_dtensor_parallel(p);
          return is_sharded && f.plan->optimizer.kind == OptimizerKind::muon &&
                 !follows_sharded_muon(f);
        },
        "optimizer muon with shards of the parameters: DTensor chooses layouts by estimates, which "
        "the simulation knows of PyTorch 2.15 with fully_shard over one group of GPUs in a plain "
        "loop; use --torch 2.15 and dp-kind fsdp2 without dp-replicate, tp, cp, pp and offload, "
        "or --engine torch"},
    Rule{
        [](const PlanFacts& f) { return updates_by_hooks(f.plan->optimizer.kind); },
        "optimizer {optimizer} with {asked}: not supported yet by the simulation; omit one of them",
        kPartsOfHooks},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && f.plan->optimizer.kind == OptimizerKind::muon &&
                  f.plan->framework == Framework::nemo;
         },
         "optimizer muon with framework nemo: not supported yet by the simulation; record the "
         "script instead (highwater record), or use framework megatron"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && f.plan->optimizer.kind == OptimizerKind::muon &&
                  p.dp_kind == DataParallel::zero1 && model_chunks(p) > 1;
         },
         "optimizer muon with zero1 and pp-schedule interleaved: each chunk's matrices are shared "
         "out by themselves, which the simulation does not follow yet; use pp-schedule 1f1b or "
         "dp-kind ddp"},
    Rule{[](const PlanFacts& f) { return uses_deepspeed(*f.plan) && !f.plan->training; },
         "eval with DeepSpeed's ZeRO: nothing is trained; omit dp-kind"},
    Rule{[](const PlanFacts& f) { return uses_deepspeed(*f.plan) && f.plan->parallel.no_sync; },
         "no-sync with DeepSpeed's ZeRO: its engine counts micro-batches itself; omit no-sync"},
    Rule{[](const PlanFacts& f) {
           const Checkpoint& checkpoint = f.plan->checkpoint;
           return is_gemini(f) && f.plan->parallel.tp > 1 &&
                  checkpoint.kind != CheckpointKind::none && !checkpoint.reentrant;
         },
         "framework colossalai-gemini with tp and checkpoint-impl nonreentrant: not supported yet "
         "by "
         "the simulation; use --checkpoint-impl reentrant, or omit --tp"},
    Rule{[](const PlanFacts& f) {
           const ModelConfig& config = f.plan->model.config;
           return is_gemini(f) && (has_field(config, FieldRole::experts) ||
                                   has_field(config, FieldRole::decoder_layers));
         },
         "framework colossalai-gemini: the simulation supports its chunks only for decoders made "
         "of linear layers, embeddings and norms, not for experts or encoders; use another model "
         "or framework"},
};

}  // namespace

std::span<const Rule> gap_rules() {
  return kGeneratorGaps;
}

}  // namespace highwater::plan_rules
