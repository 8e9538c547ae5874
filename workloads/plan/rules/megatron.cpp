// Rules of Megatron-Core's model and of NeMo's use of it.
// Source: the asserts of Megatron-Core 0.16.1.
#include <algorithm>
#include <array>

#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/rules/option_parts.hpp"
#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool is_any_of_all(const PlanFacts& f, bool (*is_wrong)(std::int64_t length)) {
  return std::ranges::any_of(f.plan->seq, is_wrong);
}

bool divides_sequences(const PlanFacts& f, int parts) {
  return std::ranges::all_of(f.plan->seq,
                             [parts](std::int64_t length) { return length % parts == 0; });
}

bool runs_engine(const PlanFacts& f) {
  return runs_megatron(f) && f.plan->parallel.megatron.layers == MegatronLayers::transformer_engine;
}

bool runs_fp8(const PlanFacts& f) {
  return f.plan->parallel.megatron.fp8 != Fp8Recipe::none;
}

bool has_experts(const PlanFacts& f) {
  return has_field(f.plan->model.config, FieldRole::experts);
}

/// Whether the model has parts whose local layers were not compared with a recording.
bool needs_engine(const PlanFacts& f) {
  const std::optional<megatron::Config> config = megatron::config_of(f.plan->model.config);
  return config && (config->qk_norm || config->latent || config->shared_ffn > 0);
}

bool has_latent_attention(const PlanFacts& f) {
  const std::optional<megatron::Config> config = megatron::config_of(f.plan->model.config);
  return runs_megatron(f) && config && config->latent;
}

/// Columns of a head's queries and keys, and of its values.
struct HeadWidths {
  std::int64_t query = 0;
  std::int64_t value = 0;
};

std::optional<HeadWidths> heads_of(const PlanFacts& f) {
  const std::optional<megatron::Config> config = megatron::config_of(f.plan->model.config);
  if (!config) {
    return std::nullopt;
  }
  const auto& latent = config->latent;
  return latent ? HeadWidths{latent->plain_dim + latent->rotary_dim, latent->value_dim}
                : HeadWidths{config->head_dim, config->head_dim};
}

/// Whether Transformer Engine takes cuDNN's attention for training such heads (2.18, common/
/// fused_attn/fused_attn.cpp nvte_get_fused_attn_backend, with cuDNN 9.11 and later). Left out: 256
/// columns on Blackwell, which cuDNN 9.23 has and no recording.
bool fuses_heads(const HeadWidths& heads, const Gpu& gpu) {
  const auto [query, value] = heads;
  if (query % 8 != 0 || value % 8 != 0) {
    return false;
  }
  const bool are_deepseeks = query == 192 && value == 128;
  if ((query <= 128 && value <= 128) || (are_deepseeks && gpu.major >= 9)) {
    return true;
  }
  const bool is_hopper = gpu.major == 9 && gpu.minor == 0;
  return is_hopper && query <= 256 && value <= 256 &&
         (query == value || query < 128 || value < 128);
}

/// Whether Transformer Engine would compute attention unfused that is simulated as cuDNN's.
bool lacks_fused_heads(const PlanFacts& f) {
  const bool takes_cudnn =
      runs_engine(f) && (is_attention(f, Attention::sdpa_cudnn) ||
                         (is_attention(f, Attention::sdpa) && f.plan->gpu.major >= 9));
  const auto heads = heads_of(f);
  return takes_cudnn && heads && !fuses_heads(*heads, f.plan->gpu);
}

/// Whether Megatron's selective checkpointing names `module`.
bool recomputes(const PlanFacts& f, RecomputeModule module) {
  return runs_megatron(f) && f.plan->parallel.megatron.recompute_modules.contains(module);
}

constexpr std::array kRecomputeModules{
    Part{parts::kChangedMegatron<&Megatron::recompute_modules>, "recompute-modules"}};

constexpr std::array kPartsOfPretraining{parts::kInit,  parts::kLoss,       parts::kLora,
                                         parts::kCache, parts::kKeptLogits, parts::kMask,
                                         parts::kEval};

constexpr std::array kMegatronRules{
    Rule{[](const PlanFacts& f) {
           const bool is_program =
               f.plan->framework == Framework::megatron || f.plan->framework == Framework::nemo;
           return is_program && !runs_megatron(f);
         },
         "framework {framework} with model-code {model_code}: it trains Megatron-Core's model; use "
         "model-code megatron"},
    Rule{[](const PlanFacts& f) { return !runs_megatron(f); },
         "{asked}: only Megatron-Core and NeMo have this; add --framework megatron or nemo, or "
         "omit {them}",
         parts::kMegatronOptions},
    Rule{[](const PlanFacts& f) {
           return f.plan->framework != Framework::nemo && runs_megatron(f) &&
                  f.plan->parallel.apex != Apex{};
         },
         "{asked}: only NeMo uses Apex's optimizer; add --framework nemo, or omit {them}",
         parts::kApexOptions},
    Rule{[](const PlanFacts& f) { return runs_megatron(f) && !runs_engine(f) && needs_engine(f); },
         "transformer-impl local with {model}: norms of queries and keys, latent attention and "
         "experts that all tokens share are simulated only with Transformer Engine's layers; use "
         "transformer-impl transformer-engine"},
    Rule{[](const PlanFacts& f) { return has_latent_attention(f) && f.plan->gpu.major < 9; },
         "{model} on {gpu}: Transformer Engine takes cuDNN's attention for latent heads, which it "
         "has from compute capability 9.0 on; use another GPU"},
    Rule{[](const PlanFacts& f) {
           return has_latent_attention(f) && !is_attention(f, Attention::sdpa) &&
                  !is_attention(f, Attention::sdpa_cudnn);
         },
         "attention {attention} with {model}: latent attention is simulated by cuDNN alone; use "
         "attention sdpa"},
    Rule{
        [](const PlanFacts& f) { return lacks_fused_heads(f) && has_latent_attention(f); },
        "{model} on {gpu}: cuDNN trains no heads of this width there, so that Transformer Engine's "
        "attention is not fused, which is not supported yet by the simulation; use another GPU, or "
        "record the run (highwater record)"},
    Rule{[](const PlanFacts& f) { return lacks_fused_heads(f) && !has_latent_attention(f); },
         "attention {attention} with {model} on {gpu}: cuDNN trains no heads of this width there; "
         "use attention sdpa-flash, which Transformer Engine takes from the package flash-attn"},
    Rule{[](const PlanFacts& f) { return has_latent_attention(f) && f.plan->parallel.cp > 1; },
         "cp {cp} with {model}: latent attention over the parts of a sequence is not supported yet "
         "by the simulation; omit cp, or record the run (highwater record)"},
    Rule{[](const PlanFacts& f) {
           return has_latent_attention(f) && !f.plan->parallel.megatron.rope_fusion;
         },
         "rope-fusion false with {model}: rotary embeddings of latent attention are simulated by "
         "Megatron-Core's kernel alone; omit it"},
    Rule{[](const PlanFacts& f) { return runs_fp8(f) && has_experts(f); },
         "fp8-recipe with a mixture of experts: not supported yet by the simulation; omit it, or "
         "record the run (highwater record)"},
    Rule{[](const PlanFacts& f) { return runs_fp8(f) && needs_engine(f); },
         "fp8-recipe with {model}: norms of queries and keys and latent attention are not "
         "supported in 8 bits yet by the simulation; omit it, or record the run (highwater "
         "record)"},
    Rule{[](const PlanFacts& f) { return runs_fp8(f) && !runs_engine(f); },
         "fp8-recipe without Transformer Engine: Megatron-Core's own layers have no products in 8 "
         "bits; use transformer-impl transformer-engine, or omit fp8-recipe"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_fp8(f) && p.tp > 1 && p.sequence_parallel;
         },
         "fp8-recipe with sp: operands that are gathered in 8 bits are not supported yet by the "
         "simulation; omit one of them, or record the run (highwater record)"},
    Rule{[](const PlanFacts& f) {
           const auto is_odd = [&](std::int64_t length) {
             const std::int64_t multiple =
                 f.plan->parallel.megatron.fp8 == Fp8Recipe::mxfp8 ? 32 : 8;
             return f.plan->batch * length / f.plan->parallel.cp % multiple != 0;
           };
           return runs_fp8(f) && std::ranges::any_of(f.plan->seq, is_odd);
         },
         "fp8-recipe: Transformer Engine takes tokens of a micro-batch by eights only, with mxfp8 "
         "by 32; change batch or seq"},
    Rule{
        [](const PlanFacts& f) {
          const Gpu& gpu = f.plan->gpu;
          return runs_fp8(f) && gpu.major < 9 && !(gpu.major == 8 && gpu.minor == 9);
        },
        "fp8-recipe on {gpu}: products in 8 bits need compute capability 8.9 or higher, but it has "
        "{capability}; omit fp8-recipe, or use another GPU"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.megatron.fp8 == Fp8Recipe::mxfp8 && f.plan->gpu.major < 10;
         },
         "fp8-recipe mxfp8 on {gpu}: its scales are those of Blackwell; use another recipe, or "
         "another GPU"},
    Rule{[](const PlanFacts& f) { return runs_engine(f) && is_attention(f, Attention::eager); },
         "transformer-impl transformer-engine with attention eager: Transformer Engine's unfused "
         "attention is not supported by the simulation; use attention sdpa, or transformer-impl "
         "local"},
    Rule{
        [](const PlanFacts& f) { return runs_megatron(f) && f.plan->precision == Precision::fp32; },
        "model-code megatron with precision fp32: its fused softmax and flash attention support "
        "only 16-bit types; use precision bf16 or fp16"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && f.plan->framework == Framework::deepspeed;
         },
         "framework deepspeed with model-code megatron: DeepSpeed's engine is simulated only "
         "around other models; use another model-code, or --framework megatron"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.tp > 1 && p.tp_kind != TensorParallel::megatron;
         },
         "tp-kind {tp_kind} with model-code megatron: the model splits its layers itself; use "
         "tp-kind megatron"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && f.plan->framework == Framework::nemo &&
                  f.plan->precision != Precision::bf16;
         },
         "framework nemo: Apex's distributed Adam is modelled only for bf16 parameters; use "
         "precision bf16"},
    Rule{[](const PlanFacts& f) { return runs_megatron(f) && is_autocast(f.plan->precision); },
         "precision {precision}: Megatron-LM converts the parameters and runs no autocast; use "
         "precision bf16 or fp16"},
    Rule{[](const PlanFacts& f) { return runs_megatron(f); },
         "model-code megatron with {asked}: pretraining makes the model on the device and computes "
         "its own loss; omit {asked}",
         kPartsOfPretraining},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) &&
                  !is_any(f.plan->optimizer.kind,
                          {OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::muon});
         },
         "model-code megatron: its optimizers are modelled only for Adam and Muon; use adam, adamw "
         "or muon"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && f.plan->optimizer.kind == OptimizerKind::muon &&
                  f.plan->precision != Precision::bf16;
         },
         "optimizer muon with model-code megatron: Megatron-Core has it only for bf16 (\"emerging "
         "optimizer with fp16 is not supported\"); use precision bf16"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && f.plan->checkpoint.kind == CheckpointKind::selective_op;
         },
         "checkpoint selective-op: Megatron-Core recomputes whole layers or the core attention; "
         "use full or selective-attention"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) &&
                  f.plan->checkpoint.kind != CheckpointKind::selective_attention;
         },
         "recompute-modules: they are what checkpoint selective-attention recomputes; add it, or "
         "omit recompute-modules",
         kRecomputeModules},
    Rule{[](const PlanFacts& f) { return runs_megatron(f) && !runs_engine(f); },
         "recompute-modules with Megatron-Core's own layers: other parts than core-attn are "
         "simulated only with Transformer Engine's; use transformer-impl transformer-engine",
         kRecomputeModules},
    Rule{[](const PlanFacts& f) { return runs_fp8(f); },
         "recompute-modules with fp8-recipe: Transformer Engine's own checkpoints are not "
         "supported yet by the simulation; omit one of them, or record the run (highwater record)",
         kRecomputeModules},
    Rule{[](const PlanFacts& f) {
           return recomputes(f, RecomputeModule::moe_activation) &&
                  !f.plan->parallel.megatron.moe_grouped_gemm;
         },
         "recompute-modules moe-act with moe-grouped-gemm false: Megatron-Core recomputes only the "
         "activation of grouped experts; omit one of them"},
    Rule{[](const PlanFacts& f) {
           return recomputes(f, RecomputeModule::latent_projections) && !has_latent_attention(f);
         },
         "recompute-modules mla-up-proj with {model}: only latent attention has these "
         "projections; omit it"},
    Rule{[](const PlanFacts& f) {
           const auto config = megatron::config_of(f.plan->model.config);
           return recomputes(f, RecomputeModule::mlp) && config && config->linear_bias;
         },
         "recompute-modules mlp with {model}: an MLP that returns its bias was not compared with a "
         "recording; omit it, or record the run (highwater record)"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && is_attention(f, Attention::eager) &&
                  is_any_of_all(f, [](std::int64_t length) {
                    return length <= 16 || length > 4096 || length % 4 != 0;
                  });
         },
         "attention eager: Megatron's fused softmax needs sequence lengths above 16, at most 4096 "
         "and divisible by 4; use attention sdpa-flash"},
    Rule{[](const PlanFacts& f) {
           const std::int64_t rows = f.plan->batch * f.shape.heads / f.plan->parallel.tp;
           return runs_megatron(f) && is_attention(f, Attention::eager) &&
                  rows % (f.longest <= 128 ? 8 : 4) != 0;
         },
         "attention eager: Megatron's fused softmax needs batch * heads / tp to be a multiple of "
         "4 (of 8 up to 128 tokens); use attention sdpa-flash"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.tp > 1 &&
                  (f.shape.kv_heads % p.tp != 0 || f.shape.ffn % p.tp != 0);
         },
         "tp {tp}: the key-value heads and the MLP of {model} cannot be split evenly; use a "
         "common divisor"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.sequence_parallel && p.tp > 1 &&
                  !divides_sequences(f, p.tp * p.cp);
         },
         "sp with tp {tp}: the sequence cannot be split evenly; use a length that is a multiple "
         "of tp * cp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool splits = runs_megatron(f) || is_recent_torchtitan(*f.plan);
           return splits && p.cp > 1 && !divides_sequences(f, 2 * p.cp);
         },
         "cp {cp}: each rank holds two chunks of every sequence; use a seq that is a multiple of "
         "2 * {cp}"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) && f.plan->parallel.cp > 1 && is_attention(f, Attention::eager);
         },
         "cp {cp} with attention eager: Megatron's own attention sees only one rank's tokens; use "
         "attention sdpa-flash"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.cp == 1 && p.cp_kind != ContextParallel::ring;
         },
         "cp-kind: sequences are not split; add --cp"},
    Rule{[](const PlanFacts& f) {
           return runs_megatron(f) &&
                  f.plan->parallel.cp_kind == ContextParallel::distributed_attention;
         },
         "cp-kind distributed-attention: Megatron-Core has an exchange of its own; use ulysses"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.cp_kind == ContextParallel::ulysses &&
                  f.shape.kv_heads > 0 && f.shape.kv_heads % (p.tp * p.cp) != 0;
         },
         "cp-kind ulysses with cp {cp}: the key-value heads of {model} cannot be spread evenly "
         "over tp * cp ranks; use fewer ranks, or cp-kind ring"},
};

}  // namespace

std::span<const Rule> megatron_rules() {
  return kMegatronRules;
}

}  // namespace highwater::plan_rules
