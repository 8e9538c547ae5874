#include "workloads/plan/lora_targets.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

// transformers 5.24, conversion_mapping.py _MODEL_TO_CONVERSION_PATTERN: those that are merged as
// qwen2_moe, which itself has no row there; PEFT adds mixtral.
constexpr std::array<std::string_view, 12> kMergedAsQwen2Moe{
    "afmoe",      "beam",      "cohere2_moe", "deepseek_v2", "deepseek_v3", "dots1",
    "exaone_moe", "flex_olmo", "glm4_moe",    "olmoe",       "qwen3_moe",   "solar_open"};
constexpr std::array<std::string_view, 3> kMergedAsMixtral{"minimax", "minimax_m2", "mixtral"};

// transformers 4.46.3 and 4.57.1: ...SparseMoeBlock of these families, which are one code.
constexpr std::array<std::string_view, 4> kListedBefore{"mixtral", "olmoe", "qwen2_moe",
                                                        "qwen3_moe"};

// _MOE_TARGET_MODULE_MAPPING
constexpr std::array<std::string_view, 4> kLayersOfQwen2Moe{"gate", "gate_proj", "up_proj",
                                                            "down_proj"};
constexpr std::array<std::string_view, 4> kLayersOfMixtral{"gate", "w1", "w2", "w3"};

std::span<const std::string_view> merged_layers(std::string_view family) {
  if (std::ranges::find(kMergedAsQwen2Moe, family) != kMergedAsQwen2Moe.end()) {
    return kLayersOfQwen2Moe;
  }
  if (std::ranges::find(kMergedAsMixtral, family) != kMergedAsMixtral.end()) {
    return kLayersOfMixtral;
  }
  return {};
}

bool is_last_part(std::string_view target, std::string_view layer) {
  return target == layer || (target.ends_with(layer) && target.size() > layer.size() &&
                             target[target.size() - layer.size() - 1] == '.');
}

bool quantizes_by_bitsandbytes(const TrainingPlan& plan) {
  return is_quantized(plan.quantization) && !is_torchao(plan.quantization) &&
         runs_accelerate(plan.framework);
}

}  // namespace

std::vector<std::string> lora_targets(const TrainingPlan& plan) {
  if (plan.lora.targets.empty() && builds_adapters(plan)) {
    return {"q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
  }
  if (!plan.lora.targets.empty() || !is_transformers_model(plan)) {
    return plan.lora.targets;
  }
  const auto targets = plan.model.config.family().lora_targets;
  return {targets.begin(), targets.end()};
}

bool builds_adapters(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtune;
}

bool builds_quantized(const TrainingPlan& plan) {
  return is_quantized(plan.quantization) && builds_adapters(plan);
}

bool lists_experts(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf && plan.experts != Experts::deepspeed &&
         release_of(plan.versions.transformers) < Release{5, 0} &&
         std::ranges::find(kListedBefore, plan.model.config.family().name) != kListedBefore.end();
}

// transformers 4.39 to 4.57, modeling_utils.py _load_state_dict_into_meta_model under
// is_fsdp_enabled(): cpu_ram_efficient_loading, without which no FSDP1 of QLoRA is started.
bool returns_to_host(const TrainingPlan& plan) {
  const Release transformers = release_of(plan.versions.transformers);
  return quantizes_by_bitsandbytes(plan) && is_fsdp1(plan.parallel) &&
         transformers >= Release{4, 39} && transformers < Release{5, 0};
}

// axolotl 0.19, loaders/model.py _build_model: device_map "cpu" or "meta" with fsdp_version 2.
bool quantizes_on_host(const TrainingPlan& plan) {
  return quantizes_by_bitsandbytes(plan) && is_fsdp2(plan.parallel) && plan.init == ModelInit::meta;
}

bool adapts_experts(const TrainingPlan& plan) {
  const bool has_merged_experts = release_of(plan.versions.transformers) >= Release{5, 0};
  if (plan.lora.rank == 0 || !has_merged_experts || !is_transformers_model(plan)) {
    return false;
  }
  const auto layers = merged_layers(plan.model.config.family().name);
  return std::ranges::any_of(lora_targets(plan), [layers](const std::string& target) {
    return (target == kAllLinear && !layers.empty()) ||
           std::ranges::any_of(layers, [&](auto layer) { return is_last_part(target, layer); });
  });
}

bool is_transformers_model(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf && !plan.model.config.family().traits.torchtitan_style;
}

}  // namespace highwater
