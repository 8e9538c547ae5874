// Rules of single axes, and of what a model can be asked for: PyTorch 2.6, transformers 5.12.
//
// Single axes are for plans that do not come from the command line, which has limits of its own.
// Two bounds are this program's: how long a trace may become, and how large a tensor.
#include <algorithm>
#include <array>

#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

/// Bytes of one tensor above which sums could overflow: 4 PiB, far beyond any device.
constexpr long double kLargestTensor = 4503599627370496.0L;

/// Bytes of the largest tensor that the plan can make, as a number that cannot overflow.
long double largest_tensor(const Facts& f) {
  const auto tokens = static_cast<long double>(f.plan->batch) * static_cast<long double>(f.longest);
  const std::int64_t width = std::max({f.shape.vocab, 4 * f.shape.hidden, 2 * f.shape.ffn});
  const bool has_scores = is_attention(f, Attention::eager) || is_attention(f, Attention::sdpa) ||
                          is_attention(f, Attention::sdpa_math);
  const long double scores = has_scores ? tokens * static_cast<long double>(f.longest) *
                                              static_cast<long double>(f.shape.heads)
                                        : 0;
  return 4 * std::max(tokens * static_cast<long double>(width), scores);
}

/// Passes of a layer or of eight experts; each makes about 250 requests.
long double layer_passes(const Facts& f) {
  const auto layers = f.shape.layers + f.shape.decoder_layers;
  return static_cast<long double>(layers * (1 + f.shape.experts / 8)) *
         static_cast<long double>(f.plan->steps) * static_cast<long double>(f.plan->grad_accum);
}

// 50 million requests, 1.2 GB of trace.
constexpr long double kMostLayerPasses = 200'000;

constexpr std::array kRanges{
    Rule{
        [](const Facts& f) { return layer_passes(f) > kMostLayerPasses; },
        "steps {steps} with grad-accum {accum}: more than 50 million requests; give fewer, 3 steps "
        "show the steady state"},
    Rule{[](const Facts& f) {
           return torch_is_before(f, {2, 0}) || !torch_is_before(f, {2, 16});
         },
         "torch: releases 2.0 to 2.15 are known; give one of them"},
    Rule{[](const Facts& f) {
           const auto& release = f.plan->versions.transformers;
           return is_before(release, {4, 29}) || !is_before(release, {5, 13});
         },
         "transformers: releases 4.29 to 5.12 are known; give one of them"},
    Rule{[](const Facts& f) { return f.plan->batch < 1; },
         "batch {batch}: at least one sequence is needed; give 1 or more"},
    Rule{[](const Facts& f) {
           return f.plan->seq.empty() || *std::ranges::min_element(f.plan->seq) < 1;
         },
         "seq: every length must be at least 1; give one length or one per micro-batch"},
    Rule{[](const Facts& f) { return f.plan->steps < 1; },
         "steps {steps}: at least one step is needed; 3 show the first and the steady state"},
    Rule{[](const Facts& f) { return f.plan->grad_accum < 1; },
         "grad-accum {accum}: at least one micro-batch per step is needed"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.param_groups < 1 || f.plan->optimizer.param_groups > 2;
         },
         "param-groups: give 1, or 2 for norms and biases in a group of their own"},
    Rule{[](const Facts& f) { return f.plan->checkpoint.n < 1; },
         "checkpoint every-N: N must be at least 1; every-1 is full"},
    Rule{[](const Facts& f) { return f.plan->loss.chunks < 1; },
         "loss chunked-N: N must be at least 1"},
    Rule{[](const Facts& f) {
           return f.plan->dropout && !(*f.plan->dropout >= 0 && *f.plan->dropout <= 1);
         },
         "dropout: a probability lies between 0 and 1"},
    Rule{[](const Facts& f) { return f.plan->grad_clip && !(*f.plan->grad_clip > 0); },
         "grad-clip: the largest norm must be above 0"},
    Rule{[](const Facts& f) { return f.plan->lora.rank < 0; },
         "lora: the rank must be at least 1, or 0 for none"},
};

constexpr std::array kModelRules{
    Rule{[](const Facts& f) {
           return has_position_table(f.plan->model.config) && f.shape.max_positions &&
                  f.longest > *f.shape.max_positions;
         },
         "seq {seq}: {model} learned {positions} positions and PyTorch fails beyond them; give at "
         "most {positions}, or a model with rotary positions"},
    Rule{[](const Facts& f) {
           return f.plan->model_code == ModelCode::torchtitan &&
                  !std::holds_alternative<LlamaConfig>(f.plan->model.config) &&
                  !std::holds_alternative<PlainConfig>(f.plan->model.config);
         },
         "model-code torchtitan: it has no {family} model; use model-code hf, or a llama"},
    Rule{
        [](const Facts& f) {
          return f.plan->model_code == ModelCode::megatron &&
                 !megatron::config_of(f.plan->model.config);
        },
        "model-code megatron: its GPTModel has no {family} model; give gpt2, a llama, mixtral or a "
        "gpt-next model"},
    Rule{[](const Facts& f) { return f.plan->experts != Experts::eager && f.shape.experts == 0; },
         "experts: {model} is no mixture of experts; leave the option out"},
    Rule{[](const Facts& f) { return largest_tensor(f) > kLargestTensor; },
         "batch {batch} with seq {seq}: a tensor could have more than 4 PiB; give smaller ones"},
};

}  // namespace

std::span<const Rule> range_rules() {
  return kRanges;
}

std::span<const Rule> model_rules() {
  return kModelRules;
}

}  // namespace highwater::plan_rules
