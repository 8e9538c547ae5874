// Rules of weights in 4 or 8 bits (bitsandbytes 0.50 and torchao 0.18, through transformers'
// BitsAndBytesConfig and TorchAoConfig), and what of them the simulation lacks.
#include <array>

#include "workloads/plan/deepspeed_release.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/families/bloom.hpp"
#include "workloads/plan/model/families/codegen.hpp"
#include "workloads/plan/model/families/gpt2.hpp"
#include "workloads/plan/model/families/gpt_bigcode.hpp"
#include "workloads/plan/model/families/gpt_neo.hpp"
#include "workloads/plan/model/families/gptj.hpp"
#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/model/families/opt.hpp"
#include "workloads/plan/model/published_weights.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool is_quantized_plan(const PlanFacts& f) {
  return is_quantized(f.plan->quantization);
}

bool shards_quantized(const PlanFacts& f) {
  return is_quantized_plan(f) && is_sharded(f.plan->parallel);
}

/// The option's value for the format that a checkpoint has.
WeightFormat format_of(const PublishedWeights& published) {
  return published.format == "nf4"   ? WeightFormat::nf4
         : published.format == "fp4" ? WeightFormat::fp4
                                     : WeightFormat::int8;
}

/// Mixtures whose experts' parameters are recorded: transformers 5.23 merges them while it loads
/// (conversion_mapping.py: mixtral, qwen2_moe), and leaves them in 16 bits.
bool is_known_mixture(const ModelConfig& config) {
  const std::string_view name = config.family().name;
  return name == "mixtral" || name == "qwen2_moe" || name == "qwen3_moe" || name == "olmoe";
}

/// Decoders whose layers bitsandbytes replaces as it does LLaMA's.
bool has_known_layers(const ModelConfig& config) {
  const bool is_kin = config.is<LlamaConfig>() && !has_field(config, FieldRole::experts);
  return is_kin || is_known_mixture(config) || config.is<OptConfig>() || config.is<BloomConfig>() ||
         config.is<GptNeoConfig>() || config.is<GptJConfig>() || config.is<CodegenConfig>() ||
         config.is<GptBigCodeConfig>() || config.is<Gpt2Config>();
}

/// DeepSpeed's engine with a stage that shards something.
bool trains_by_zero(const PlanFacts& f) {
  return uses_deepspeed(*f.plan) && f.plan->parallel.dp_kind != DataParallel::zero0 &&
         is_recent_deepspeed(f.plan->versions);
}

/// Storage that mixed precision would convert.
bool is_converted_storage(const PlanFacts& f) {
  const DType storage = f.plan->quantization.storage;
  const auto& param_dtype = f.plan->parallel.fsdp.param_dtype;
  return is_floating_point(storage) && param_dtype && *param_dtype != storage;
}

constexpr std::array kPartsOf4Bit{
    Part{[](const PlanFacts& f) { return f.plan->quantization.double_quant; }, "double-quant"},
    Part{[](const PlanFacts& f) { return f.plan->quantization.storage != DType::uint8; },
         "quant-storage"},
    Part{[](const PlanFacts& f) { return f.plan->quantization.compute_dtype.has_value(); },
         "quant-compute-dtype"}};

constexpr std::array kQuantizationRules{
    Rule{[](const PlanFacts& f) { return !is_4bit(f.plan->quantization); },
         "{asked}: only 4-bit weights have this; add --quantize nf4 or fp4, or omit {them}",
         kPartsOf4Bit},
    Rule{[](const PlanFacts& f) {
           return is_quantized_plan(f) && f.plan->training && !trains_adapters(*f.plan);
         },
         "quantize without lora: quantised weights are frozen, and nothing would be trained; add "
         "--lora with a rank"},
    // transformers 5.23, quantizers/auto.py merge_quantization_configs.
    Rule{[](const PlanFacts& f) {
           const auto published = published_weights(f.plan->model);
           return published && format_of(*published) != f.plan->quantization.weights;
         },
         "quantize with a quantization_config in the config.json: the checkpoint's own format is "
         "kept whatever is asked for; omit quantize, or delete the field"},
    Rule{[](const PlanFacts& f) {
           return is_quantized_plan(f) && !builds_quantized(*f.plan) &&
                  f.plan->init != ModelInit::cpu && !quantizes_on_host(*f.plan);
         },
         "init {init} with quantize: from_pretrained() reads weights on the host and quantises "
         "them one by one; use init cpu"},
    // bitsandbytes 0.50.2, nn/modules.py Linear8bitLt.forward: self.weight.CB of a parameter that
    // fully_shard made.
    Rule{[](const PlanFacts& f) {
           return shards_quantized(f) && f.plan->quantization.weights == WeightFormat::int8;
         },
         "quantize int8 with FSDP: 8-bit weights lose their scales when they are sharded; use nf4 "
         "or fp4, or --dp-kind ddp"},
    // torchao 0.18: DDP's first broadcast is aten.view of Int8Tensors, fully_shard's first step is
    // aten.split; neither is implemented.
    Rule{[](const PlanFacts& f) {
           return is_torchao(f.plan->quantization) && f.plan->parallel.gpus() > 1;
         },
         "quantize int8-weight-only over several GPUs: torchao's Int8Tensor can neither be "
         "broadcast by DDP nor sharded by FSDP; use nf4 or int8"},
    // accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model leaves integers out of the shards.
    Rule{[](const PlanFacts& f) {
           const bool is_left_out =
               is_fsdp2(f.plan->parallel) && runs_accelerate(f.plan->framework);
           return shards_quantized(f) && is_4bit(f.plan->quantization) &&
                  !is_floating_point(f.plan->quantization.storage) && !is_left_out &&
                  !builds_quantized(*f.plan);
         },
         "quantize with FSDP: parameters of integers cannot be sharded; add --quant-storage bf16 "
         "(bnb_4bit_quant_storage)"},
    Rule{[](const PlanFacts& f) { return shards_quantized(f) && is_converted_storage(f); },
         "quant-storage with another param-dtype: FSDP would convert the codes as if they were "
         "numbers; use the same type for both"},
    Rule{[](const PlanFacts& f) { return f.plan->lora.dora && f.plan->lora.rank == 0; },
         "dora: LoRA is not enabled; add --lora with a rank"},
};

constexpr std::array kQuantizationGaps{
    Rule{[](const PlanFacts& f) { return f.plan->lora.dora && f.plan->parallel.gpus() > 1; },
         "dora over several GPUs: not supported yet by the simulation; use --engine torch, or omit "
         "it"},
    Rule{[](const PlanFacts& f) {
           return is_quantized_plan(f) &&
                  (f.plan->model_code != ModelCode::hf ||
                   !has_known_layers(f.plan->model.config)) &&
                  !builds_quantized(*f.plan);
         },
         "quantize with this model: the simulation has it for transformers' decoders and for "
         "mixtures as Mixtral, Qwen2-MoE, Qwen3-MoE and OLMoE (not OpenAI GPT, T5, BERT and other "
         "mixtures); use --engine torch"},
    Rule{
        [](const PlanFacts& f) {
          return is_torchao(f.plan->quantization) && f.plan->model.config.is<Gpt2Config>();
        },
        "quantize int8-weight-only with GPT-2: torchao quantises nn.Linear, and GPT-2's layers are "
        "Conv1D, which stay as they are; use nf4, fp4 or int8"},
    Rule{[](const PlanFacts& f) {
           return is_torchao(f.plan->quantization) && is_known_mixture(f.plan->model.config);
         },
         "quantize int8-weight-only with mixtures: not supported yet by the simulation; use nf4, "
         "fp4 or int8"},
    Rule{[](const PlanFacts& f) {
           const auto published = published_weights(f.plan->model);
           return is_quantized_plan(f) && published && published->quantizes_head;
         },
         "quantization_config.llm_int8_skip_modules does not name the head, which is quantised "
         "then: not supported yet by the simulation; use --engine torch"},
    Rule{[](const PlanFacts& f) {
           const Framework framework = f.plan->framework;
           return is_quantized_plan(f) && framework != Framework::hf &&
                  framework != Framework::torch && framework != Framework::deepspeed &&
                  framework != Framework::torchtune && !runs_accelerate(framework);
         },
         "quantize with this framework: the simulation has it for hf, torch, deepspeed, trainer, "
         "trl-sft, accelerate-fsdp2 and torchtune only; use one of them"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_quantized_plan(f) &&
                  (p.gpus() > p.dp || (p.dp > 1 && p.dp_kind != DataParallel::ddp &&
                                       !is_sharded(p) && !trains_by_zero(f)));
         },
         "quantize over several GPUs: the simulation has it with DDP, FSDP and DeepSpeed 0.19's "
         "stages 1 to 3 only; use --dp-kind ddp, fsdp1, fsdp2, zero1, zero2 or zero3, or record "
         "the script (highwater record)"},
};

}  // namespace

std::span<const Rule> quantization_rules() {
  return kQuantizationRules;
}

std::span<const Rule> quantization_gaps() {
  return kQuantizationGaps;
}

}  // namespace highwater::plan_rules
