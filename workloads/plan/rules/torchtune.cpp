// Rules of torchtune 0.6's decoder and of its fine-tuning recipes, and what of them the simulation
// lacks.
//
// Source: torchtune 0.6.1, modules/transformer.py (_validate_inputs), modules/attention_utils.py,
// recipes/full_finetune_single_device.py and full_finetune_distributed.py.
#include <array>

#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/published_weights.hpp"
#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool has_torchtune_decoder(const PlanFacts& f) {
  return f.plan->model_code == ModelCode::torchtune;
}

/// Weights that its builders do not make: of another format than torchao's NF4.
bool is_other_quantization(const Quantization& q) {
  return q.weights != WeightFormat::nf4 || !q.double_quant || q.storage != DType::uint8 ||
         q.compute_dtype.has_value() || q.prepares_training;
}

bool runs_torchtune_recipe(const PlanFacts& f) {
  return f.plan->framework == Framework::torchtune;
}

constexpr std::array kPartsOfBatch{parts::kCache, parts::kMask};

constexpr std::array kTorchtuneRules{
    Rule{[](const PlanFacts& f) {
           return has_torchtune_decoder(f) && f.longest > f.shape.max_positions.value_or(f.longest);
         },
         "seq {seq}: torchtune's table for {model} has {positions} positions, and it refuses more; "
         "use at most {positions}"},
    Rule{[](const PlanFacts& f) {
           return has_torchtune_decoder(f) && is_attention(f, Attention::eager);
         },
         "attention eager: torchtune's decoder runs PyTorch's own attention; use --attention sdpa, "
         "or model-code hf"},
    Rule{[](const PlanFacts& f) { return has_torchtune_decoder(f); },
         "{asked}: torchtune's decoder is trained without a cache, and without a mask unless "
         "sequences are packed; omit {them}, or use model-code hf",
         kPartsOfBatch},
    Rule{[](const PlanFacts& f) {
           return builds_quantized(*f.plan) && is_other_quantization(f.plan->quantization);
         },
         "quantize with torchtune's decoder: quantize_base is torchao's NF4 with nested scales, "
         "without a compute or storage type and without PEFT's preparation; use quantize nf4, and "
         "omit double-quant, quant-compute-dtype, quant-storage and prepare-kbit"},
    // torchtune 0.6.1, training/checkpointing: it reads weights in 16 or 32 bits.
    Rule{[](const PlanFacts& f) {
           return builds_quantized(*f.plan) && published_weights(f.plan->model).has_value();
         },
         "quantization_config with torchtune's decoder, which reads no checkpoint in 4 or 8 bits; "
         "use that of the model before, or model-code hf"},
    Rule{[](const PlanFacts& f) {
           return runs_torchtune_recipe(f) && f.plan->precision != Precision::fp32 &&
                  f.plan->precision != Precision::bf16;
         },
         "precision {precision}: torchtune's recipes train in bf16 or fp32, without autocast; use "
         "one of them"},
    Rule{[](const PlanFacts& f) {
           return runs_torchtune_recipe(f) && f.plan->parallel.dp > 1 &&
                  f.plan->parallel.dp_kind != DataParallel::fsdp2;
         },
         "dp {dp}: torchtune's recipes shard by fully_shard; use dp-kind fsdp2"},
    Rule{[](const PlanFacts& f) { return runs_torchtune_recipe(f) && f.plan->parallel.no_sync; },
         "no-sync: torchtune's recipes reduce gradients after each micro-batch; omit it"},
};

constexpr std::array kPartsOfTuneAxes{parts::kTp, parts::kPp};

constexpr std::array kTorchtuneGaps{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return builds_quantized(*f.plan) && p.gpus() > 1 &&
                  (!is_fsdp2(p) || p.fsdp.replicas > 1 || p.offload != Offload::none);
         },
         "quantize over several GPUs with torchtune's decoder: the simulation has it for "
         "fully_shard over one dimension of ranks, with parameters on the GPU; use --dp-kind fsdp2 "
         "and omit dp-replicate and offload"},
    Rule{[](const PlanFacts& f) { return has_torchtune_decoder(f); },
         "{asked} with torchtune's decoder: not supported yet by the simulation; use dp alone, or "
         "model-code hf",
         kPartsOfTuneAxes},
    Rule{[](const PlanFacts& f) {
           return has_torchtune_decoder(f) &&
                  f.plan->checkpoint.kind == CheckpointKind::selective_op;
         },
         "checkpoint selective-op with torchtune's decoder: not supported yet by the simulation; "
         "use full or every-N"},
    Rule{[](const PlanFacts& f) {
           const Offload offload = f.plan->parallel.offload;
           return runs_torchtune_recipe(f) && offload != Offload::none &&
                  offload != Offload::params;
         },
         "offload {offload} with framework torchtune, which copies them on a stream of its own: "
         "not supported yet by the simulation; use params or omit it"},
};

}  // namespace

std::span<const Rule> torchtune_rules() {
  return kTorchtuneRules;
}

std::span<const Rule> torchtune_gaps() {
  return kTorchtuneGaps;
}

}  // namespace highwater::plan_rules
