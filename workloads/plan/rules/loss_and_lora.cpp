// Rules of the loss, of how the model gets onto the device, and of LoRA's adapters (PEFT): options
// that have no effect together with another.
#include <algorithm>
#include <array>

#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

/// Beside an encoder.
bool has_decoder(const ModelConfig& config) {
  return has_field(config, FieldRole::decoder_layers);
}

constexpr std::array kPartsOfLora{
    Part{[](const PlanFacts& f) { return f.plan->lora.dropout > 0; }, "lora-dropout"},
    Part{[](const PlanFacts& f) { return !f.plan->lora.targets.empty(); }, "lora-targets"}};

constexpr std::array kLossAndLoraRules{
    Rule{[](const PlanFacts& f) { return fuses_head(f.plan->loss.kind) && f.plan->keep_logits; },
         "keep-logits with loss {loss}: this loss never produces logits; omit keep-logits, or use "
         "loss hf"},
    Rule{[](const PlanFacts& f) {
           return f.plan->loss.kind == LossKind::chunked && f.plan->keep_logits;
         },
         "keep-logits with loss chunked: the chunked loss drops each chunk of logits; omit "
         "keep-logits, or use loss hf"},
    Rule{[](const PlanFacts& f) {
           return fuses_head(f.plan->loss.kind) &&
                  (f.plan->model_code == ModelCode::torchtitan ||
                   f.plan->model_code == ModelCode::torchtune ||
                   f.plan->model.config.family().traits.torchtitan_style);
         },
         "loss {loss}: it replaces the loss inside transformers' classes, and this decoder takes "
         "no labels; use model-code hf or another loss"},
    Rule{[](const PlanFacts& f) {
           return (fuses_head(f.plan->loss.kind) || f.plan->loss.kind == LossKind::chunked) &&
                  has_decoder(f.plan->model.config);
         },
         "loss {loss}: not supported for models with a decoder beside their encoder; use loss hf"},
    Rule{[](const PlanFacts& f) {
           return f.plan->loss.kind == LossKind::trl &&
                  std::ranges::any_of(f.plan->seq, [](std::int64_t tokens) { return tokens < 2; });
         },
         "seq 1 with loss trl: the first token of a text is predicted by none; use 2 or more"},
    Rule{
        [](const PlanFacts& f) {
          return f.plan->loss.smoothing > 0 && f.plan->framework != Framework::trainer;
        },
        "label-smoothing with framework {framework}: it is the loss of transformers' Trainer; omit "
        "it, or use framework trainer"},
    Rule{[](const PlanFacts& f) {
           return f.plan->loss.smoothing > 0 && f.plan->loss.kind != LossKind::hf;
         },
         "label-smoothing with loss {loss}: Trainer's own loss takes the place of all others; use "
         "loss hf"},
    Rule{[](const PlanFacts& f) {
           return f.plan->init == ModelInit::pretrained_half &&
                  model_dtype(f.plan->precision) == DType::fp32;
         },
         "init pretrained-half: the model is converted to fp16 or bf16; set precision to one of "
         "them, or use init cpu"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_whole = p.dp_kind == DataParallel::ddp && p.tp == 1 && p.pp == 1;
           return f.plan->init == ModelInit::pretrained &&
                  (!is_whole || f.plan->model_code != ModelCode::hf);
         },
         "init pretrained: from_pretrained(device_map=...) brings a whole model of transformers to "
         "the GPU; use init cpu, or omit what splits it"},
    Rule{[](const PlanFacts& f) { return f.plan->lora.rank > 0 && !f.plan->peft.empty(); },
         "lora with peft: each says which adapters are trained; omit one of them"},
    Rule{[](const PlanFacts& f) { return f.plan->lora.rank == 0; },
         "{asked}: LoRA is not enabled; add --lora with a rank, or omit {them}", kPartsOfLora},
    Rule{[](const PlanFacts& f) {
           return f.plan->lora.rank > 0 && f.plan->optimizer.param_groups == 2;
         },
         "param-groups 2 with lora: adapters have neither norms nor biases, so the second group "
         "would be empty; use 1"},
};

}  // namespace

std::span<const Rule> loss_and_lora_rules() {
  return kLossAndLoraRules;
}

}  // namespace highwater::plan_rules
