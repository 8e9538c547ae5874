// Rules about single axes and about what a model supports: PyTorch 2.6, transformers 5.12.
//
// The rules about single axes serve plans that do not come from the command line, whose parser
// checks ranges itself. Two bounds are this program's own: the length of a trace and the size of a
// tensor.
#include <algorithm>
#include <array>

#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

/// Sums could overflow if one tensor were larger than this: 4 PiB, far beyond any device.
constexpr long double kLargestTensor = 4503599627370496.0L;

/// Bytes of the largest tensor that the plan can make, as a number that cannot overflow.
long double largest_tensor(const PlanFacts& f) {
  const std::int64_t longest = std::max(f.longest, f.plan->target_seq.value_or(0));
  const auto tokens = static_cast<long double>(f.plan->batch) * static_cast<long double>(longest);
  const std::int64_t width = std::max({f.shape.vocab, 4 * f.shape.hidden, 2 * f.shape.ffn});
  const bool has_scores = is_attention(f, Attention::eager) || is_attention(f, Attention::sdpa) ||
                          is_attention(f, Attention::sdpa_math);
  const long double scores = has_scores ? tokens * static_cast<long double>(longest) *
                                              static_cast<long double>(f.shape.heads)
                                        : 0;
  return 4 * std::max(tokens * static_cast<long double>(width), scores);
}

/// Passes of a layer or of eight experts; each makes about 250 requests.
long double layer_passes(const PlanFacts& f) {
  const auto layers = f.shape.layers + f.shape.decoder_layers;
  return static_cast<long double>(layers * (1 + f.shape.experts / 8)) *
         static_cast<long double>(f.plan->steps) * static_cast<long double>(f.plan->grad_accum);
}

std::int64_t lengths(const PlanFacts& f) {
  return static_cast<std::int64_t>(f.plan->seq.size());
}

// 50 million requests, 1.2 GB of trace.
constexpr long double kMostLayerPasses = 200'000;

/// The second texts have a length of their own.
bool compares_pairs(const PlanFacts& f) {
  return f.plan->loss.kind == LossKind::contrastive;
}

/// TRL's loops whose sequences are a prompt and an answer.
bool has_answers(const PlanFacts& f) {
  const Framework framework = f.plan->framework;
  return runs_trl(framework) && framework != Framework::trl_sft &&
         framework != Framework::trl_reward;
}

constexpr std::array kPartsOfLength{
    Part{[](const PlanFacts& /*f*/) { return true; }, "steps {steps}"},
    Part{[](const PlanFacts& f) { return f.plan->grad_accum > 1; }, "grad-accum {accum}"}};

constexpr std::array kRanges{
    Rule{[](const PlanFacts& f) { return layer_passes(f) > kMostLayerPasses; },
         "{asked}: the trace would exceed 50 million requests; use fewer (3 steps show the steady "
         "state)",
         kPartsOfLength},
    Rule{[](const PlanFacts& f) {
           return torch_is_before(f, {2, 0});
         },
         "torch: releases before 2.0 are not modelled; use 2.0 or later"},
    Rule{[](const PlanFacts& f) {
           return is_before(f.plan->versions.transformers, {4, 29});
         },
         "transformers: releases before 4.29 are not modelled; use 4.29 or later"},
    Rule{[](const PlanFacts& f) { return f.plan->batch < 1; },
         "batch {batch}: at least one sequence is needed; use 1 or more"},
    Rule{[](const PlanFacts& f) {
           return f.plan->seq.empty() || *std::ranges::min_element(f.plan->seq) < 1;
         },
         "seq: every length must be at least 1; give one length, or one per micro-batch"},
    Rule{[](const PlanFacts& f) {
           return f.plan->seq.size() > 1 && f.plan->grad_accum > 0 &&
                  lengths(f) % f.plan->grad_accum != 0;
         },
         "seq: {lengths} lengths do not match {accum} micro-batches per step (grad-accum); give "
         "one length, {accum}, or {accum} for each of several steps"},
    Rule{[](const PlanFacts& f) {
           return f.plan->seq.size() > 1 &&
                  lengths(f) > std::int64_t{f.plan->steps} * f.plan->grad_accum;
         },
         "seq: {lengths} lengths are more than the micro-batches of {steps} steps; use more steps, "
         "or omit lengths"},
    Rule{[](const PlanFacts& f) { return f.plan->steps < 1; },
         "steps {steps}: at least one step is needed; use 3 to see both the first step and the "
         "steady state"},
    Rule{[](const PlanFacts& f) { return f.plan->grad_accum < 1; },
         "grad-accum {accum}: at least one micro-batch per step is needed; use 1 or more"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.param_groups < 1 || f.plan->optimizer.param_groups > 2;
         },
         "param-groups: only one or two groups are supported; use 1, or 2 to put norms and biases "
         "in their own group"},
    Rule{[](const PlanFacts& f) { return f.plan->checkpoint.n < 1; },
         "checkpoint every-N: N must be at least 1; use every-1 or full to checkpoint every block"},
    Rule{[](const PlanFacts& f) { return f.plan->loss.chunks < 1; },
         "loss chunked-N: N must be at least 1; use chunked-1 or more"},
    Rule{[](const PlanFacts& f) {
           return f.plan->dropout && !(*f.plan->dropout >= 0 && *f.plan->dropout <= 1);
         },
         "dropout: it is not a probability; use a value from 0 to 1"},
    Rule{[](const PlanFacts& f) { return f.plan->grad_clip && !(*f.plan->grad_clip > 0); },
         "grad-clip: the maximum norm must be positive; use 1.0, for example"},
    Rule{[](const PlanFacts& f) {
           return f.plan->reference_model && !can_have_reference(f.plan->framework);
         },
         "reference-model: only trl-dpo, trl-kto, trl-grpo and trl-rloo have one; use one of these "
         "frameworks, or omit it"},
    Rule{[](const PlanFacts& f) { return f.plan->reference_model && trains_adapters(*f.plan); },
         "reference-model with adapters: TRL asks the model without them instead; omit it"},
    Rule{[](const PlanFacts& f) { return f.plan->lora.rank < 0; },
         "lora: the rank must not be negative; use 1 or more, or 0 for no adapters"},
};

constexpr std::array kPartsOfInputs{
    Part{[](const PlanFacts& f) { return f.plan->inputs.image.has_value(); }, "image-size"},
    Part{[](const PlanFacts& f) { return f.plan->inputs.audio_seconds.has_value(); },
         "audio-seconds"},
    Part{[](const PlanFacts& f) { return f.plan->inputs.video_frames.has_value(); },
         "video-frames"},
    Part{[](const PlanFacts& f) { return f.plan->inputs.objects.has_value(); }, "objects"}};

constexpr std::array kModelRules{
    Rule{[](const PlanFacts& f) { return !is_other(f.plan->model.config); },
         "{asked}: {model} is fed tokens only; omit {them}", kPartsOfInputs},
    Rule{[](const PlanFacts& f) {
           return f.plan->target_seq && !has_own_targets(*f.plan) && !has_answers(f) &&
                  !compares_pairs(f);
         },
         "target-seq {target}: {model} has no decoder beside an encoder, whose labels could have "
         "another length than its inputs; omit it"},
    Rule{[](const PlanFacts& f) {
           return f.plan->target_seq && f.plan->loss.kind != LossKind::hf && !compares_pairs(f);
         },
         "target-seq with loss {loss}: a loss outside the model has as many labels as inputs; use "
         "loss hf, or omit target-seq"},
    Rule{[](const PlanFacts& f) {
           return f.plan->model.config.family().traits.position_table && f.shape.max_positions &&
                  f.longest > *f.shape.max_positions;
         },
         "seq {seq}: {model} has learned embeddings for {positions} positions, and PyTorch fails "
         "beyond them; use at most {positions}, or a model with rotary positions"},
    Rule{[](const PlanFacts& f) {
           const Family& family = f.plan->model.config.family();
           return f.plan->model_code == ModelCode::torchtitan &&
                  family.torchtitan_problems == nullptr && !family.traits.torchtitan_style;
         },
         "model-code torchtitan: torchtitan has no {family} model; use model-code hf, or a llama "
         "model"},
    Rule{[](const PlanFacts& f) {
           return f.plan->model_code == ModelCode::torchtune &&
                  f.plan->model.config.family().torchtune_problems == nullptr;
         },
         "model-code torchtune: the simulation has torchtune's decoder for LLaMA, Mistral and "
         "Qwen2, and {model} is of family {family}; use model-code hf"},
    Rule{[](const PlanFacts& f) {
           return f.plan->model_code == ModelCode::megatron &&
                  !megatron::config_of(f.plan->model.config);
         },
         "model-code megatron: Megatron-Core's GPTModel does not cover {family}; use gpt2, a "
         "llama, qwen3, mixtral, deepseek or a gpt-next model"},
    Rule{[](const PlanFacts& f) {
           return f.plan->experts != Experts::eager && f.shape.experts == 0;
         },
         "experts: {model} is not a mixture of experts; omit the option"},
    Rule{[](const PlanFacts& f) { return largest_tensor(f) > kLargestTensor; },
         "batch {batch} with seq {seq}: a tensor could exceed 4 PiB; use smaller values"},
};

}  // namespace

std::span<const Rule> range_rules() {
  return kRanges;
}

std::span<const Rule> model_rules() {
  return kModelRules;
}

}  // namespace highwater::plan_rules
