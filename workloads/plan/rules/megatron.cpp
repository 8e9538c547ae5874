// Rules of Megatron-Core's model and of NeMo's use of it.
// Source: the asserts of Megatron-Core 0.16.1.
#include <algorithm>
#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

bool is_any_of_all(const Facts& f, bool (*is_wrong)(std::int64_t length)) {
  return std::ranges::any_of(f.plan->seq, is_wrong);
}

bool divides_sequences(const Facts& f, int parts) {
  return std::ranges::all_of(f.plan->seq,
                             [parts](std::int64_t length) { return length % parts == 0; });
}

constexpr std::array kMegatronRules{
    Rule{[](const Facts& f) {
           const bool is_program =
               f.plan->framework == Framework::megatron || f.plan->framework == Framework::nemo;
           return is_program && !runs_megatron(f);
         },
         "framework megatron, nemo: they train Megatron-Core's model; leave model-code out"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return !runs_megatron(f) && (p.megatron != Megatron{} || p.apex != Apex{});
         },
         "overlap-grad-reduce, overlap-param-gather, fp32-grads, wgrad-fusion, ddp-bucket-size, "
         "vocab-divisor, apex-...: these are options of Megatron-Core and NeMo; give --framework "
         "megatron or nemo too"},
    Rule{[](const Facts& f) {
           return f.plan->framework != Framework::nemo && runs_megatron(f) &&
                  f.plan->parallel.apex != Apex{};
         },
         "apex-bucket-mb, apex-remainders, apex-contiguous-grads: Apex's optimizer is NeMo's; give "
         "--framework nemo too"},
    Rule{[](const Facts& f) { return runs_megatron(f) && is_autocast(f.plan->precision); },
         "model-code megatron: it keeps fp32 copies instead of casting by autocast; give precision "
         "bf16 or fp16"},
    Rule{[](const Facts& f) { return runs_megatron(f) && f.plan->precision == Precision::fp32; },
         "model-code megatron with precision fp32: its fused softmax and flash attention compute "
         "in 16 "
         "bit only; give precision bf16 or fp16"},
    Rule{[](const Facts& f) {
           return runs_megatron(f) && f.plan->framework == Framework::deepspeed;
         },
         "framework deepspeed with model-code megatron: DeepSpeed's engine is simulated around "
         "other "
         "models; leave model-code out, or give --framework megatron"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.tp > 1 && p.tp_kind != TensorParallel::megatron;
         },
         "tp-kind with model-code megatron: the model splits its layers itself; leave tp-kind out"},
    Rule{[](const Facts& f) {
           return runs_megatron(f) && f.plan->framework == Framework::nemo &&
                  f.plan->precision != Precision::bf16;
         },
         "framework nemo: Apex's distributed Adam is modelled for bf16 parameters; give precision "
         "bf16"},
    Rule{[](const Facts& f) {
           return runs_megatron(f) &&
                  (f.plan->init != ModelInit::device || f.plan->loss.kind != LossKind::hf ||
                   f.plan->lora.rank > 0 || f.plan->use_cache || f.plan->keep_logits ||
                   f.plan->attention_mask || !f.plan->training);
         },
         "model-code megatron: pretraining makes the model on the device and computes its own "
         "loss; leave init, loss, lora, use-cache, keep-logits, attention-mask and mode out"},
    Rule{[](const Facts& f) {
           return runs_megatron(f) &&
                  !is_any(f.plan->optimizer.kind, {OptimizerKind::adam, OptimizerKind::adamw});
         },
         "model-code megatron: its optimizer is modelled for Adam only; give adam or adamw"},
    Rule{
        [](const Facts& f) {
          return runs_megatron(f) && f.plan->checkpoint.kind == CheckpointKind::selective_op;
        },
        "checkpoint selective-op: Megatron-Core recomputes layers or the core attention; give full "
        "or selective-attention"},
    Rule{[](const Facts& f) {
           return runs_megatron(f) && is_attention(f, Attention::eager) &&
                  is_any_of_all(f, [](std::int64_t length) {
                    return length <= 16 || length > 4096 || length % 4 != 0;
                  });
         },
         "attention eager: Megatron's fused softmax takes sequences above 16 and up to 4096 that 4 "
         "divides; give attention sdpa-flash"},
    Rule{[](const Facts& f) {
           const std::int64_t rows = f.plan->batch * f.shape.heads / f.plan->parallel.tp;
           return runs_megatron(f) && is_attention(f, Attention::eager) &&
                  rows % (f.longest <= 128 ? 8 : 4) != 0;
         },
         "attention eager: Megatron's fused softmax takes batch * heads / tp in blocks of 4, of 8 "
         "up to 128 tokens; give attention sdpa-flash"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.tp > 1 &&
                  (f.shape.kv_heads % p.tp != 0 || f.shape.ffn % p.tp != 0);
         },
         "tp {tp}: the key-value heads and the MLP of {model} cannot be split evenly; give a "
         "divisor"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.sequence_parallel && p.tp > 1 &&
                  !divides_sequences(f, p.tp * p.cp);
         },
         "sp with tp {tp}: the sequence cannot be split evenly; give a multiple of tp * cp"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.cp > 1 && !divides_sequences(f, 2 * p.cp);
         },
         "cp {cp}: a rank has two chunks of each sequence; give a seq that 2 * {cp} divides"},
    Rule{
        [](const Facts& f) {
          return runs_megatron(f) && f.plan->parallel.cp > 1 && is_attention(f, Attention::eager);
        },
        "cp {cp} with attention eager: Megatron's own attention knows one rank's tokens only; give "
        "attention sdpa-flash"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.cp == 1 && p.megatron.cp_kind != ContextParallel::ring;
         },
         "cp-kind: sequences are not split; give --cp too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.megatron.cp_kind == ContextParallel::ulysses && f.shape.kv_heads > 0 &&
                  f.shape.kv_heads % (p.tp * p.cp) != 0;
         },
         "cp-kind ulysses with cp {cp}: the key-value heads of {model} cannot be spread over tp * "
         "cp ranks; give fewer, or cp-kind ring"},
};

}  // namespace

std::span<const Rule> megatron_rules() {
  return kMegatronRules;
}

}  // namespace highwater::plan_rules
