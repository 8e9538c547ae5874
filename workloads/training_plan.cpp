// The rules that cross axes of a plan, as one table, and what follows from a plan without running
// it.
//
// A rule says when PyTorch 2.6, transformers 5.12 or bitsandbytes would refuse the combination, or
// when one option makes another meaningless. Those about kernels and optimizers were tried on the
// real release (`fused` of each optimizer; sdpa backends by dtype, head size and architecture).
#include "workloads/training_plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/args.h>
#include <fmt/format.h>

#include "workloads/megatron/config.hpp"
#include "workloads/models/lora_targets.hpp"

namespace highwater {
namespace {

/// Bytes of one tensor above which sums could overflow: 4 PiB, far beyond any device.
constexpr long double kLargestTensor = 4503599627370496.0L;

/// A plan and what several rules ask of it.
struct Facts {
  const TrainingPlan* plan;
  ModelShape shape;
  std::int64_t longest = 0;  ///< tokens of the longest sequence
};

std::int64_t longest_sequence(const TrainingPlan& plan) {
  return plan.seq.empty() ? 0 : *std::ranges::max_element(plan.seq);
}

/// The dtype that attention and matmuls compute in.
DType compute_dtype(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return DType::fp32;
    case Precision::bf16:
    case Precision::amp_bf16:
      return DType::bf16;
    case Precision::fp16:
    case Precision::amp_fp16:
      return DType::fp16;
  }
  return DType::fp32;
}

bool is_sharded(const Parallelism& p) {
  return p.dp > 1 && (p.dp_kind == DataParallel::fsdp1 || p.dp_kind == DataParallel::fsdp2);
}

// FSDP's own mixed precision gathers parameters in another type.
DType compute_dtype(const Facts& f) {
  const Parallelism& p = f.plan->parallel;
  const DType own = compute_dtype(f.plan->precision);
  return is_sharded(p) && own == DType::fp32 ? p.fsdp.param_dtype.value_or(own) : own;
}

/// Classes that have no SDPA path in transformers 5 (_supports_sdpa is false).
bool has_sdpa(const ModelConfig& config) {
  return !std::holds_alternative<BloomConfig>(config) &&
         !std::holds_alternative<GptNeoConfig>(config) &&
         !std::holds_alternative<CodegenConfig>(config) &&
         !std::holds_alternative<GptJConfig>(config) && !std::holds_alternative<T5Config>(config);
}

bool is_attention(const Facts& f, Attention attention) {
  return f.plan->attention == attention;
}

bool is_any(OptimizerKind kind, std::initializer_list<OptimizerKind> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

int release_part(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_before(std::string_view text, int major, int minor) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const int at_minor = dot < text.size() ? release_part(text.substr(dot + 1)) : 0;
  return std::pair(release_part(text.substr(0, dot)), at_minor) < std::pair(major, minor);
}

bool torch_is_before(const Facts& f, int major, int minor) {
  return is_before(f.plan->versions.torch, major, minor);
}

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

/// One row: when it is broken, and what to say and do. The message can name facts in braces.
struct Rule {
  bool (*is_broken)(const Facts& f);
  std::string_view message;
};

/// Passes of a layer or of eight experts; each makes about 250 requests.
long double layer_passes(const Facts& f) {
  const auto layers = f.shape.layers + f.shape.decoder_layers;
  return static_cast<long double>(layers * (1 + f.shape.experts / 8)) *
         static_cast<long double>(f.plan->steps) * static_cast<long double>(f.plan->grad_accum);
}

// 50 million requests, 1.2 GB of trace.
constexpr long double kMostLayerPasses = 200'000;

// Single axes, for plans that do not come from the command line.
constexpr std::array kRanges{
    Rule{
        [](const Facts& f) { return layer_passes(f) > kMostLayerPasses; },
        "steps {steps} with grad-accum {accum}: more than 50 million requests; give fewer, 3 steps "
        "show the steady state"},
    Rule{[](const Facts& f) { return torch_is_before(f, 2, 0) || !torch_is_before(f, 2, 12); },
         "torch: releases 2.0 to 2.11 are known; give one of them"},
    Rule{[](const Facts& f) {
           const auto& release = f.plan->versions.transformers;
           return is_before(release, 4, 29) || !is_before(release, 5, 13);
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

constexpr std::array kAttentionRules{
    Rule{[](const Facts& f) {
           return !is_attention(f, Attention::eager) && f.plan->model_code == ModelCode::hf &&
                  !has_sdpa(f.plan->model.config);
         },
         "attention {attention}: transformers has only eager attention for {family}; give eager"},
    Rule{[](const Facts& f) {
           return is_attention(f, Attention::sdpa_flash) && compute_dtype(f) == DType::fp32;
         },
         "attention sdpa-flash: the kernel computes in bf16 and fp16 only; give another precision, "
         "or attention sdpa-efficient"},
    Rule{[](const Facts& f) {
           return is_attention(f, Attention::sdpa_cudnn) && compute_dtype(f) == DType::fp32;
         },
         "attention sdpa-cudnn: the kernel computes in bf16 and fp16 only; give another precision, "
         "or attention sdpa-efficient"},
    Rule{
        [](const Facts& f) {
          return is_attention(f, Attention::sdpa_flash) && f.shape.head_dim > 256;
        },
        "attention sdpa-flash: heads of {head_dim} are too wide for the kernel (at most 256); give "
        "attention sdpa-efficient"},
    Rule{
        [](const Facts& f) {
          return is_attention(f, Attention::sdpa_cudnn) && f.shape.head_dim > 128;
        },
        "attention sdpa-cudnn: heads of {head_dim} are too wide for the kernel (at most 128); give "
        "attention sdpa"},
    Rule{[](const Facts& f) {
           return (is_attention(f, Attention::sdpa_flash) ||
                   is_attention(f, Attention::sdpa_cudnn)) &&
                  f.plan->gpu.major < 8;
         },
         "attention {attention}: needs compute capability 8.0, {gpu} has {capability}; give "
         "attention sdpa-efficient or another GPU"},
    Rule{
        [](const Facts& f) {
          return is_attention(f, Attention::sdpa_efficient) && f.plan->gpu.major < 8 &&
                 compute_dtype(f) == DType::bf16;
        },
        "attention sdpa-efficient: bf16 needs compute capability 8.0, {gpu} has {capability}; give "
        "precision fp16, or attention sdpa-math"},
};

// Attention written out in the module's forward cannot be checkpointed alone.
bool has_attention_function(const TrainingPlan& plan) {
  const auto& config = plan.model.config;
  const bool is_written_out =
      std::holds_alternative<BloomConfig>(config) || std::holds_alternative<T5Config>(config) ||
      (std::holds_alternative<PlainConfig>(config) && plan.attention == Attention::eager);
  return !is_written_out;
}

constexpr std::array kCheckpointRules{
    Rule{[](const Facts& f) {
           return f.plan->checkpoint.reentrant && f.plan->checkpoint.kind == CheckpointKind::none;
         },
         "checkpoint-impl reentrant: nothing is checkpointed; give checkpoint full or every-N too"},
    Rule{[](const Facts& f) {
           return f.plan->checkpoint.reentrant &&
                  f.plan->checkpoint.kind == CheckpointKind::selective_op;
         },
         "checkpoint-impl reentrant: torch selects by operator in the nonreentrant implementation "
         "only; leave checkpoint-impl out"},
    Rule{[](const Facts& f) {
           return f.plan->checkpoint.kind == CheckpointKind::selective_attention &&
                  !has_attention_function(*f.plan);
         },
         "checkpoint selective-attention: {family} has no attention function that could be "
         "checkpointed by itself; give selective-op or full"},
};

constexpr std::array kOptimizerRules{
    Rule{[](const Facts& f) {
           return f.plan->optimizer.impl == OptimizerImpl::fused &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::rmsprop, OptimizerKind::adagrad,
                                                  OptimizerKind::adafactor});
         },
         "optimizer-impl fused: torch has fused CUDA kernels for adam, adamw and sgd only; give "
         "foreach or loop"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.impl != OptimizerImpl::standard &&
                  f.plan->optimizer.kind == OptimizerKind::adamw_8bit;
         },
         "optimizer-impl: adamw-8bit (bitsandbytes) has one implementation; leave the option out"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.impl == OptimizerImpl::fused && torch_is_before(f, 2, 3) &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::sgd, OptimizerKind::sgd_momentum});
         },
         "optimizer-impl fused: SGD has it from PyTorch 2.3 on; give foreach or a newer --torch"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.kind == OptimizerKind::adafactor && torch_is_before(f, 2, 5);
         },
         "optimizer adafactor: in PyTorch from 2.5 on; give a newer --torch"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.master_weights && f.plan->precision != Precision::bf16 &&
                  f.plan->precision != Precision::fp16;
         },
         "master-weights: with precision {precision} the parameters are fp32 themselves; give bf16 "
         "or fp16, or leave the option out"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.kind == OptimizerKind::none &&
                  (f.plan->optimizer.master_weights || f.plan->optimizer.in_backward);
         },
         "master-weights, optimizer-in-backward: there is no optimizer; choose one, or leave them "
         "out"},
    Rule{[](const Facts& f) { return f.plan->optimizer.in_backward && f.plan->grad_clip; },
         "optimizer-in-backward with grad-clip: the norm is known only when all gradients are; "
         "leave one of them out"},
    Rule{[](const Facts& f) { return f.plan->optimizer.in_backward && f.plan->grad_accum > 1; },
         "optimizer-in-backward with grad-accum {accum}: gradients are used up in each backward; "
         "give grad-accum 1"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.in_backward && f.plan->precision == Precision::amp_fp16;
         },
         "optimizer-in-backward with precision amp-fp16: GradScaler unscales after the backward; "
         "give amp-bf16"},
    Rule{[](const Facts& f) {
           return !f.plan->training && (f.plan->grad_clip || f.plan->optimizer.master_weights ||
                                        f.plan->optimizer.in_backward);
         },
         "mode eval: grad-clip, master-weights and optimizer-in-backward belong to training; leave "
         "them out"},
};

constexpr std::array kOtherRules{
    Rule{[](const Facts& f) { return f.plan->loss.kind == LossKind::fused && f.plan->keep_logits; },
         "keep-logits with loss fused: the fused loss makes no logits; leave one of them out"},
    Rule{[](const Facts& f) {
           return f.plan->loss.kind == LossKind::chunked && f.plan->keep_logits;
         },
         "keep-logits with loss chunked: that training step drops the chunks of logits; leave one "
         "of "
         "them out"},
    Rule{[](const Facts& f) {
           return f.plan->loss.kind == LossKind::fused &&
                  (f.plan->model_code == ModelCode::torchtitan ||
                   std::holds_alternative<PlainConfig>(f.plan->model.config));
         },
         "loss fused: it replaces the loss inside of transformers' classes, and this decoder takes "
         "no labels; give model-code hf or another loss"},
    Rule{[](const Facts& f) {
           return (f.plan->loss.kind == LossKind::fused ||
                   f.plan->loss.kind == LossKind::chunked) &&
                  std::holds_alternative<T5Config>(f.plan->model.config);
         },
         "loss fused, chunked: not supported for T5; give hf"},
    Rule{[](const Facts& f) {
           return f.plan->init == ModelInit::pretrained_half &&
                  f.plan->precision != Precision::fp16 && f.plan->precision != Precision::bf16;
         },
         "init pretrained-half: the model is converted to fp16 or bf16; give one of them as "
         "precision, or init cpu"},
    Rule{[](const Facts& f) {
           return f.plan->lora.rank == 0 &&
                  (f.plan->lora.dropout > 0 || !f.plan->lora.targets.empty());
         },
         "lora-dropout, lora-targets: there is no LoRA; give --lora with a rank too"},
    Rule{
        [](const Facts& f) { return f.plan->lora.rank > 0 && f.plan->optimizer.param_groups == 2; },
        "param-groups 2 with lora: adapters have neither norms nor biases, so the second group "
        "would be empty; give 1"},
};

bool runs_megatron(const Facts& f) {
  return f.plan->model_code == ModelCode::megatron;
}

bool is_any_of_all(const Facts& f, bool (*is_wrong)(std::int64_t length)) {
  return std::ranges::any_of(f.plan->seq, is_wrong);
}

bool divides_sequences(const Facts& f, int parts) {
  return std::ranges::all_of(f.plan->seq,
                             [parts](std::int64_t length) { return length % parts == 0; });
}

// Source: the asserts of Megatron-Core 0.16.1 and NeMo's use of it.
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
    Rule{[](const Facts& f) {
           return runs_megatron(f) && (f.plan->precision == Precision::amp_bf16 ||
                                       f.plan->precision == Precision::amp_fp16);
         },
         "model-code megatron: it keeps fp32 copies instead of casting by autocast; give precision "
         "bf16, fp16 or fp32"},
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
           return runs_megatron(f) && !is_attention(f, Attention::eager) &&
                  compute_dtype(f) == DType::fp32;
         },
         "attention {attention}: flash attention computes in bf16 and fp16 only; give another "
         "precision, or attention eager"},
    Rule{[](const Facts& f) {
           return runs_megatron(f) && is_attention(f, Attention::eager) &&
                  (compute_dtype(f) == DType::fp32 || is_any_of_all(f, [](std::int64_t length) {
                     return length <= 16 || length > 4096 || length % 4 != 0;
                   }));
         },
         "attention eager: Megatron's fused softmax takes bf16 or fp16 and sequences above 16 and "
         "up to 4096 that 4 divides; give attention sdpa-flash"},
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
           return p.sequence_parallel && p.tp > 1 && !divides_sequences(f, p.tp * p.cp);
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

bool is_megatron_mixture(const Facts& f) {
  return runs_megatron(f) && f.shape.experts > 0;
}

// Source: Megatron-Core 0.16.1, moe_layer.py, router.py, transformer_config.py.
constexpr std::array kMixtureRules{
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.dp * p.cp % p.ep != 0;
         },
         "ep {ep}: experts are spread over ranks that have other data; give a divisor of dp * cp"},
    Rule{
        [](const Facts& f) {
          return is_megatron_mixture(f) && f.plan->parallel.tp > 1 &&
                 !f.plan->parallel.sequence_parallel;
        },
        "tp {tp} with a mixture: Megatron-Core trains it with sequence parallelism only; give --sp "
        "too"},
    Rule{[](const Facts& f) {
           const Megatron& m = f.plan->parallel.megatron;
           return runs_megatron(f) && f.shape.experts == 0 &&
                  (m.moe_capacity_factor || m.moe_imbalance != 1);
         },
         "moe-capacity-factor, moe-imbalance: {model} is no mixture of experts; leave them out"},
    Rule{[](const Facts& f) {
           const Megatron& m = f.plan->parallel.megatron;
           return m.moe_capacity_factor && m.moe_imbalance != 1;
         },
         "moe-imbalance with moe-capacity-factor: with a capacity all experts take the same number "
         "of tokens; leave one of them out"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.megatron.moe_imbalance > 1 && p.megatron.moe_imbalance > p.ep;
         },
         "moe-imbalance: no rank can receive more than all tokens, {ep} times the mean; give at "
         "most "
         "{ep}"},
};

constexpr int kMostGpus = 1 << 20;

bool is_a_size(int size) {
  return size >= 1 && size <= kMostGpus;
}

bool sizes_are_sound(const Parallelism& p) {
  return is_a_size(p.dp) && is_a_size(p.tp) && is_a_size(p.pp) && is_a_size(p.cp) &&
         is_a_size(p.ep) && is_a_size(p.chunks);
}

bool is_ddp(const Parallelism& p) {
  return p.dp > 1 && p.dp_kind == DataParallel::ddp;
}

bool is_interleaved(const Parallelism& p) {
  return p.pp > 1 && p.schedule == PipelineSchedule::interleaved;
}

bool is_autocast(Precision precision) {
  return precision == Precision::amp_bf16 || precision == Precision::amp_fp16;
}

bool is_gemini(const Facts& f) {
  return f.plan->framework == Framework::colossalai_gemini;
}

// What ColossalAI's Gemini itself refuses or silently gets wrong.
constexpr std::array kGeminiRules{
    Rule{[](const Facts& f) {
           const Precision precision = f.plan->precision;
           return is_gemini(f) && precision != Precision::fp16 && precision != Precision::bf16;
         },
         "precision {precision}: Gemini keeps parameters in 16 bit; give fp16 or bf16"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_gemini(f) && p.dp > 1 && p.dp_kind != DataParallel::zero3;
         },
         "dp-kind: Gemini shards parameters, gradients and optimizer states; give zero3"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_gemini(f) && p.tp > 1 && p.tp_kind != TensorParallel::colossalai;
         },
         "tp-kind: Gemini splits layers as ColoTensor does; give colossalai"},
    Rule{[](const Facts& f) { return is_gemini(f) && f.plan->grad_accum > 1; },
         "grad-accum {accum}: Gemini writes gradients over the parameters, which a second backward "
         "would need; leave the option out"},
    Rule{[](const Facts& f) { return is_gemini(f) && f.plan->grad_clip.has_value(); },
         "grad-clip: Gemini does not let scripts clip gradients; leave the option out"},
    Rule{[](const Facts& f) {
           const OptimizerKind kind = f.plan->optimizer.kind;
           return is_gemini(f) && kind != OptimizerKind::adamw && kind != OptimizerKind::adam;
         },
         "optimizer: Gemini trains with HybridAdam; give adamw or adam"},
    Rule{[](const Facts& f) { return is_gemini(f) && !f.plan->training; },
         "mode eval with framework colossalai-gemini: not supported; leave one of them out"},
    Rule{[](const Facts& f) { return is_gemini(f) && f.plan->lora.rank > 0; },
         "lora with framework colossalai-gemini: frozen parameters outside of chunks are not "
         "supported; leave one of them out"},
    Rule{[](const Facts& f) {
           const ChunkSearch& search = f.plan->parallel.gemini.search;
           return search.smallest < 1 || search.range < 0 || search.step < 1;
         },
         "gemini-min-chunk, gemini-search-range, gemini-search-step: a chunk has at least one "
         "element, the range at least none and the step at least one"},
    Rule{[](const Facts& f) { return !is_gemini(f) && f.plan->parallel.gemini != Gemini{}; },
         "gemini-min-chunk, gemini-search-range, gemini-search-step, gemini-gather-lone, "
         "gemini-empty-cache: these are options of --framework colossalai-gemini; give it too"},
};

constexpr std::array kParallelRules{
    Rule{[](const Facts& f) { return !sizes_are_sound(f.plan->parallel); },
         "dp, tp, pp, cp, ep, pp-chunks: a job has from 1 to 1048576 ranks on each axis"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const long double gpus = static_cast<long double>(p.dp) * p.tp * p.pp * p.cp;
           return sizes_are_sound(p) && gpus > kMostGpus;
         },
         "dp * tp * pp * cp: no job has more than 1048576 GPUs; give smaller sizes"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.shape.heads > 0 && p.tp > 1 && f.shape.heads % p.tp != 0 && !is_gemini(f);
         },
         "tp {tp}: the {heads} attention heads of {model} cannot be split evenly; give a divisor"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.shape.layers > 0 && p.pp > f.shape.layers + f.shape.decoder_layers;
         },
         "pp {pp}: {model} has fewer layers; give a smaller number of stages"},
    Rule{[](const Facts& f) {
           return f.plan->parallel.sequence_parallel && f.plan->parallel.tp == 1;
         },
         "sp: sequence parallelism splits along the tensor-parallel ranks; give --tp too"},
    Rule{[](const Facts& f) { return f.plan->parallel.ep > 1 && f.shape.experts == 0; },
         "ep {ep}: {model} is no mixture of experts; leave the option out"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.ep > 1 && f.shape.experts > 0 && f.shape.experts % p.ep != 0;
         },
         "ep {ep}: the {experts} experts of {model} cannot be spread evenly; give a divisor"},
    Rule{[](const Facts& f) {
           return f.plan->parallel.schedule == PipelineSchedule::interleaved &&
                  f.plan->parallel.pp == 1;
         },
         "pp-schedule interleaved: there is one stage; give --pp too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_interleaved(p) && f.plan->grad_accum % p.pp != 0;
         },
         "pp-schedule interleaved: micro-batches go through the stages in groups of {pp}; give a "
         "--grad-accum that {pp} divides"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_interleaved(p) && f.shape.layers > 0 &&
                  f.shape.layers < std::int64_t{p.pp} * p.chunks;
         },
         "pp-chunks: {model} has fewer than one layer for each chunk of {pp} stages; give less"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const auto& cap = p.ddp.bucket_cap_mb;
           return cap && !(*cap > 0 && *cap <= 1e9);
         },
         "bucket-cap-mb: a bucket has more than 0 and at most 1e9 MiB"},
    Rule{[](const Facts& f) {
           return f.plan->parallel.event_lag < 0 || f.plan->parallel.event_queries < 0;
         },
         "event-lag, event-queries: give 0 or more"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return !is_ddp(p) && p.ddp != Ddp{};
         },
         "bucket-cap-mb, bucket-view, static-graph: these are options of DistributedDataParallel; "
         "give --dp with dp-kind ddp too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.plan->framework == Framework::deepspeed && p.dp_kind != DataParallel::zero1 &&
                  p.dp_kind != DataParallel::zero2 && p.dp_kind != DataParallel::zero3;
         },
         "framework deepspeed: its engine without ZeRO (stage 0) is not known; give dp-kind zero1, "
         "zero2 or zero3"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.no_sync && p.dp == 1;
         },
         "no-sync: one rank has nothing to synchronize; give --dp too"},
    Rule{[](const Facts& f) { return is_ddp(f.plan->parallel) && f.plan->optimizer.in_backward; },
         "optimizer-in-backward with dp-kind ddp: each parameter would be updated before its "
         "gradient was summed over the ranks; leave one of them out"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_ddp(p) && p.ddp.static_graph && p.no_sync && f.plan->grad_accum > 1;
         },
         "static-graph with no-sync: DistributedDataParallel cannot learn the graph in a backward "
         "that reduces nothing; leave one of them out"},
    Rule{[](const Facts& f) {
           return uses_deepspeed(*f.plan) && f.plan->parallel.zero.reduce_bucket_size < 1;
         },
         "reduce-bucket-size: a bucket has at least one element"},
    Rule{[](const Facts& f) { return !uses_deepspeed(*f.plan) && f.plan->parallel.zero != Zero{}; },
         "reduce-bucket-size and the other options of DeepSpeed's ZeRO: give --dp with dp-kind "
         "zero1, zero2 or zero3 too"},
};

bool is_dtensor_parallel(const Parallelism& p) {
  return p.tp > 1 && p.tp_kind == TensorParallel::dtensor;
}

// torch.distributed.tensor.parallel over the usual plan for LLaMA-like models.
constexpr std::array kDTensorRules{
    Rule{[](const Facts& f) {
           return f.plan->parallel.loss_parallel && !is_dtensor_parallel(f.plan->parallel);
         },
         "loss-parallel: it computes the loss of DTensors; give --tp and --tp-kind dtensor too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && f.shape.kv_heads > 0 && f.shape.kv_heads % p.tp != 0;
         },
         "tp {tp}: the key and value heads of {model} cannot be split evenly; give a divisor"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) &&
                  std::ranges::any_of(f.plan->seq, [&](auto n) { return n % p.tp != 0; }) &&
                  p.sequence_parallel;
         },
         "sp with tp {tp}: sequences are cut into as many parts; give lengths that tp divides"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && p.sequence_parallel && !has_plain_names(*f.plan);
         },
         "sp with tp-kind dtensor: transformers passes attention its input by keyword, which "
         "PrepareModuleInput does not see; give --model-code torchtitan"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool mixes = f.plan->grad_clip || f.plan->precision == Precision::amp_fp16 ||
                              !f.plan->set_to_none;
           return is_dtensor_parallel(p) && !p.sequence_parallel && mixes;
         },
         "grad-clip, precision amp-fp16, set-to-none false with tp-kind dtensor: norms are no "
         "DTensors then, and PyTorch's multi-tensor operators take no mixture; give --sp too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && !p.sequence_parallel &&
                  f.plan->optimizer.param_groups != 1;
         },
         "param-groups 2 with tp-kind dtensor: without --sp norms are no DTensors and are a group "
         "of their own already; give 1"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && f.plan->optimizer.impl == OptimizerImpl::fused &&
                  f.plan->optimizer.kind != OptimizerKind::adam &&
                  f.plan->optimizer.kind != OptimizerKind::adamw;
         },
         "optimizer-impl fused with tp-kind dtensor: of the fused kernels only Adam's and AdamW's "
         "work on DTensors; give foreach"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && is_fsdp2(p) && f.shape.vocab % (p.tp * p.dp) != 0;
         },
         "tp with dp-kind fsdp2: fully_shard cuts the rows of {model}'s table, which tp has cut, "
         "into even parts only; give sizes whose product divides the vocabulary"},
    Rule{[](const Facts& f) {
           const Optimizer& o = f.plan->optimizer;
           const bool has_no_strategy =
               o.kind == OptimizerKind::adafactor || o.kind == OptimizerKind::adamw_8bit;
           return is_dtensor_parallel(f.plan->parallel) && has_no_strategy;
         },
         "optimizer adafactor, adamw-8bit with tp-kind dtensor: it cannot work on DTensors; give "
         "another"},
};

bool has_pure_low_precision(const TrainingPlan& plan) {
  return plan.precision == Precision::bf16 || plan.precision == Precision::fp16;
}

constexpr std::array kFsdpRules{
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return !is_sharded(p) && p.fsdp != Fsdp{};
         },
         "param-dtype, reduce-dtype, reshard, dp-replicate, strategy, use-orig-params, "
         "limit-all-gathers, forward-prefetch: these are options of FSDP; give --dp with dp-kind "
         "fsdp1 or fsdp2 too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && (p.fsdp.replicas < 1 || p.dp % p.fsdp.replicas != 0);
         },
         "dp-replicate {replicas}: the {dp} data-parallel ranks cannot be split evenly into so "
         "many copies; give a divisor"},
    Rule{[](const Facts& f) { return is_fsdp2(f.plan->parallel) && torch_is_before(f, 2, 4); },
         "dp-kind fsdp2: fully_shard is in PyTorch from 2.4 on; give a newer --torch, or fsdp1"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  has_pure_low_precision(*f.plan);
         },
         "lora with dp-kind fsdp2 and precision {precision}: PEFT makes adapters in fp32, and "
         "fully_shard wants one type in a group; give precision fp32 with param-dtype bf16"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->optimizer.impl == OptimizerImpl::fused &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::sgd, OptimizerKind::sgd_momentum});
         },
         "optimizer-impl fused with dp-kind fsdp2: SGD's fused kernel does not know DTensors; give "
         "foreach"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->optimizer.impl == OptimizerImpl::foreach &&
                  f.plan->optimizer.kind == OptimizerKind::adafactor;
         },
         "optimizer-impl foreach with adafactor and dp-kind fsdp2: it fails on DTensors; give loop "
         "or leave the option out"},
};

constexpr std::array kFsdp1Rules{
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_hybrid = p.fsdp.strategy == ShardingStrategy::hybrid_shard;
           return is_fsdp1(p) && is_hybrid && (p.fsdp.replicas < 2 || p.fsdp.replicas >= p.dp);
         },
         "strategy hybrid_shard: there are several copies, each on several ranks; give "
         "dp-replicate a number above 1 and below dp"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_hybrid = p.fsdp.strategy == ShardingStrategy::hybrid_shard;
           return is_fsdp1(p) && !is_hybrid && p.fsdp.replicas > 1;
         },
         "dp-replicate with dp-kind fsdp1: only hybrid_shard has copies; give --strategy "
         "hybrid_shard too"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->parallel.fsdp.reshard != Reshard::always;
         },
         "reshard with dp-kind fsdp1: that is fully_shard's option; give --strategy shard_grad_op "
         "instead"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && !is_fsdp1(p) &&
                  (p.fsdp.strategy != ShardingStrategy::full_shard || !p.fsdp.use_orig_params ||
                   !p.fsdp.limit_all_gathers || p.fsdp.forward_prefetch);
         },
         "strategy, use-orig-params, limit-all-gathers, forward-prefetch: these are options of "
         "FSDP1; give dp-kind fsdp1"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  !f.plan->parallel.fsdp.use_orig_params;
         },
         "lora with use-orig-params false: a flat parameter is trained as a whole or not at all; "
         "give true"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  has_pure_low_precision(*f.plan);
         },
         "lora with dp-kind fsdp1 and precision {precision}: PEFT makes adapters in fp32, and a "
         "flat parameter has one type; give precision fp32 with param-dtype bf16"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->init == ModelInit::meta;
         },
         "init meta with dp-kind fsdp1: FSDP makes parameters with reset_parameters(), which "
         "classes of transformers lack; give another init"},
    Rule{[](const Facts& f) { return is_fsdp1(f.plan->parallel) && f.plan->optimizer.in_backward; },
         "optimizer-in-backward with dp-kind fsdp1: parameters have their gradients only after "
         "the reduction; leave one of them out"},
};

// Which data parallelism the generator has for whose code.
bool knows_data_parallel(const Facts& f) {
  const DataParallel kind = f.plan->parallel.dp_kind;
  if (runs_megatron(f)) {
    return kind == DataParallel::ddp || kind == DataParallel::zero1;
  }
  return kind == DataParallel::ddp || kind == DataParallel::fsdp1 || kind == DataParallel::fsdp2 ||
         uses_deepspeed(*f.plan) || is_gemini(f);
}

constexpr std::array kGeneratorGaps{
    Rule{
        [](const Facts& f) {
          const Parallelism& p = f.plan->parallel;
          return (p.cp > 1 || p.ep > 1) && !runs_megatron(f);
        },
        "cp, ep: the simulation splits only Megatron-Core's model yet; give --model-code megatron, "
        "leave them out, or ask 'highwater estimate'"},
    Rule{[](const Facts& f) {
           return f.plan->framework == Framework::nemo && f.plan->parallel.ep > 1;
         },
         "ep with framework nemo: Apex's optimizer is modelled for one group of ranks; give "
         "--framework megatron"},
    Rule{[](const Facts& f) { return f.plan->parallel.pp > 1 && !runs_megatron(f); },
         "pp: the simulation splits only Megatron-Core's model into stages; give --model-code "
         "megatron, leave it out, or ask 'highwater estimate'"},
    Rule{[](const Facts& f) {
           return f.plan->parallel.tp > 1 && !runs_megatron(f) && !is_gemini(f) &&
                  !is_dtensor_parallel(f.plan->parallel);
         },
         "tp: the simulation has no such tensor parallelism for this model code; give --tp-kind "
         "dtensor, or --framework megatron, or ask 'highwater estimate'"},
    Rule{[](const Facts& f) { return f.plan->parallel.dp > 1 && !knows_data_parallel(f); },
         "dp-kind: the simulation has none of this kind with this framework and model code; give "
         "another, leave --dp out, or ask 'highwater "
         "estimate'"},
    Rule{[](const Facts& f) {
           const ModelConfig& config = f.plan->model.config;
           return is_dtensor_parallel(f.plan->parallel) &&
                  !std::holds_alternative<LlamaConfig>(config) && !has_plain_names(*f.plan);
         },
         "tp with tp-kind dtensor: the simulation has a plan for LLaMA-like models only; give one "
         "of them"},
    Rule{[](const Facts& f) {
           const auto* llama = std::get_if<LlamaConfig>(&f.plan->model.config);
           return is_dtensor_parallel(f.plan->parallel) && llama != nullptr &&
                  llama->family == LlamaFamily::gemma;
         },
         "tp with tp-kind dtensor: Gemma's embedding, which scales a sum over the ranks, is not "
         "supported yet by the simulation; give another model"},
    Rule{[](const Facts& f) {
           return f.plan->parallel.loss_parallel && f.plan->loss.kind == LossKind::shift;
         },
         "loss shift with loss-parallel: not supported yet by the simulation; give flat"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && p.dp > 1 && !(is_fsdp2(p) && p.sequence_parallel);
         },
         "tp with dp: the simulation knows only dp-kind fsdp2 with --sp yet; give these, or leave "
         "one of them out"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && p.dp > 1 &&
                  (f.plan->precision == Precision::amp_fp16 || p.fsdp.replicas > 1 ||
                   f.plan->init == ModelInit::cpu);
         },
         "precision amp-fp16, dp-replicate, init cpu with tp and dp: not supported yet "
         "by the simulation; leave them out"},
    Rule{[](const Facts& f) {
           const TrainingPlan& plan = *f.plan;
           const bool is_special =
               plan.lora.rank > 0 || plan.optimizer.master_weights || plan.optimizer.in_backward ||
               plan.loss.kind == LossKind::fused || plan.loss.kind == LossKind::chunked ||
               plan.init == ModelInit::pretrained_half;
           return is_dtensor_parallel(plan.parallel) && is_special;
         },
         "tp with lora, master-weights, optimizer-in-backward, a fused or chunked loss or init "
         "pretrained-half: not supported yet by the simulation; leave one of them out"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_known = p.offload == Offload::optimizer && uses_deepspeed(*f.plan) &&
                                 p.dp_kind != DataParallel::zero3;
           return p.offload != Offload::none && !is_known;
         },
         "offload: the simulation knows only the optimizer of zero1 and zero2 yet; leave it out, "
         "or ask 'highwater estimate'"},
    Rule{[](const Facts& f) { return uses_deepspeed(*f.plan) && is_autocast(f.plan->precision); },
         "precision {precision} with DeepSpeed's ZeRO: it has a mixed precision of its own; give "
         "bf16 or fp16"},
    Rule{[](const Facts& f) {
           const Optimizer& o = f.plan->optimizer;
           return uses_deepspeed(*f.plan) &&
                  (o.in_backward || o.master_weights || o.kind == OptimizerKind::none ||
                   o.kind == OptimizerKind::adafactor || o.kind == OptimizerKind::adagrad ||
                   o.kind == OptimizerKind::adamw_8bit);
         },
         "optimizer with DeepSpeed's ZeRO: it keeps fp32 copies itself and steps on flat parts of "
         "them; give adamw, adam, sgd, sgd-momentum or rmsprop without optimizer-in-backward and "
         "master-weights"},
    Rule{[](const Facts& f) { return uses_deepspeed(*f.plan) && !f.plan->training; },
         "eval with DeepSpeed's ZeRO: nothing is trained; leave dp-kind out"},
    Rule{[](const Facts& f) { return uses_deepspeed(*f.plan) && f.plan->parallel.no_sync; },
         "no-sync with DeepSpeed's ZeRO: its engine counts micro-batches itself; leave it out"},
    Rule{[](const Facts& f) { return f.plan->parallel.zero.init; },
         "deepspeed.zero.Init(): not supported yet by the simulation; build the model before"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.dp > 1 && p.dp_kind == DataParallel::zero3 && f.plan->lora.rank > 0;
         },
         "lora with dp-kind zero3: not supported yet by the simulation; take zero2"},
    Rule{[](const Facts& f) {
           const auto& config = f.plan->model.config;
           const bool has_experts = std::holds_alternative<MixtralConfig>(config) ||
                                    std::holds_alternative<DeepseekV3Config>(config);
           return has_experts && f.plan->parallel.dp > 1 &&
                  f.plan->parallel.dp_kind == DataParallel::zero3;
         },
         "dp-kind zero3 with a mixture of experts: not supported yet by the simulation; take "
         "zero2"},
};

std::string_view precision_word(Precision precision) {
  constexpr std::array<std::string_view, 5> kWords{"fp32", "bf16", "fp16", "amp-bf16", "amp-fp16"};
  return kWords[static_cast<std::size_t>(precision)];
}

std::string_view attention_word(Attention attention) {
  constexpr std::array<std::string_view, 6> kWords{"eager",          "sdpa",      "sdpa-flash",
                                                   "sdpa-efficient", "sdpa-math", "sdpa-cudnn"};
  return kWords[static_cast<std::size_t>(attention)];
}

std::string fill_in(std::string_view message, const Facts& f) {
  const TrainingPlan& plan = *f.plan;
  return fmt::format(
      fmt::runtime(message), fmt::arg("batch", plan.batch), fmt::arg("seq", f.longest),
      fmt::arg("steps", plan.steps), fmt::arg("accum", plan.grad_accum),
      fmt::arg("n", plan.checkpoint.n), fmt::arg("model", plan.model.name),
      fmt::arg("family", family_name(plan.model)), fmt::arg("layers", f.shape.layers),
      fmt::arg("positions", f.shape.max_positions.value_or(0)),
      fmt::arg("head_dim", f.shape.head_dim), fmt::arg("heads", f.shape.heads),
      fmt::arg("experts", f.shape.experts), fmt::arg("dp", plan.parallel.dp),
      fmt::arg("replicas", plan.parallel.fsdp.replicas), fmt::arg("tp", plan.parallel.tp),
      fmt::arg("pp", plan.parallel.pp), fmt::arg("ep", plan.parallel.ep),
      fmt::arg("cp", plan.parallel.cp), fmt::arg("gpu", plan.gpu.name),
      fmt::arg("capability", fmt::format("{}.{}", plan.gpu.major, plan.gpu.minor)),
      fmt::arg("precision", precision_word(plan.precision)),
      fmt::arg("attention", attention_word(plan.attention)));
}

template <std::size_t N>
void check(const std::array<Rule, N>& rules, const Facts& facts,
           std::vector<std::string>& problems) {
  for (const Rule& rule : rules) {
    if (rule.is_broken(facts)) {
      problems.push_back(fill_in(rule.message, facts));
    }
  }
}

void append(std::vector<std::string> more, std::vector<std::string>& problems) {
  std::ranges::move(more, std::back_inserter(problems));
}

}  // namespace

std::vector<std::string> plan_problems(const TrainingPlan& plan) {
  std::vector<std::string> problems = model_problems(plan.model);
  // A shape that makes no sense would only breed errors that follow from it.
  const bool model_is_sound = problems.empty();
  const Facts facts{&plan, model_is_sound ? shape_of(plan.model) : ModelShape{},
                    longest_sequence(plan)};
  const auto* llama = std::get_if<LlamaConfig>(&plan.model.config);
  if (model_is_sound && plan.model_code == ModelCode::torchtitan && llama != nullptr) {
    append(to_plain_problems(*llama), problems);
  }
  check(kRanges, facts, problems);
  if (model_is_sound) {
    check(kModelRules, facts, problems);
  }
  check(kAttentionRules, facts, problems);
  check(kCheckpointRules, facts, problems);
  check(kOptimizerRules, facts, problems);
  check(kOtherRules, facts, problems);
  check(kMegatronRules, facts, problems);
  check(kParallelRules, facts, problems);
  check(kDTensorRules, facts, problems);
  check(kFsdpRules, facts, problems);
  check(kFsdp1Rules, facts, problems);
  check(kGeminiRules, facts, problems);
  if (sizes_are_sound(plan.parallel)) {
    check(kMixtureRules, facts, problems);
  }
  return problems;
}

std::vector<std::string> generator_gaps(const TrainingPlan& plan) {
  std::vector<std::string> gaps;
  check(kGeneratorGaps, {&plan, ModelShape{}, longest_sequence(plan)}, gaps);
  return gaps;
}

bool uses_deepspeed(const TrainingPlan& plan) {
  const DataParallel kind = plan.parallel.dp_kind;
  const bool is_zero =
      kind == DataParallel::zero1 || kind == DataParallel::zero2 || kind == DataParallel::zero3;
  return is_zero && plan.parallel.dp > 1 && plan.model_code != ModelCode::megatron &&
         plan.framework != Framework::colossalai_gemini;
}

bool has_plain_names(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtitan ||
         std::holds_alternative<PlainConfig>(plan.model.config);
}

bool supports_sdpa(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtitan || has_sdpa(plan.model.config);
}

std::int64_t sequence_length(const TrainingPlan& plan, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(plan.seq.size());
  return plan.seq[static_cast<std::size_t>(index % count)];
}

}  // namespace highwater
