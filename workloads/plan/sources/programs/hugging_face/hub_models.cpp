#include "workloads/plan/sources/programs/hugging_face/hub_models.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/catalog/published_models.hpp"

namespace highwater::program_table {
namespace {

struct HubCopy {
  std::string_view name;  ///< in lower case, without its owner
  std::string_view preset;
};

/// Models whose config.json has the sizes of another one. Sources: config.json of each, as far as
/// Lightning-AI/litgpt has it (litgpt/config.py: Qwen2.5's Math and Coder, QwQ, DeepSeek's
/// distillations of Llama, Phi-3 and Phi-4, CodeGemma, Mathstral, Nemotron 70B); the model card's
/// table of its architecture else. Words that a tuning adds are in the vocabulary: such models are
/// no copies (Tulu 3 is a published model of its own).
constexpr std::array kHubCopies{
    HubCopy{"vicuna-7b-v1.5", "llama-2-7b"},
    HubCopy{"vicuna-13b-v1.5", "llama-2-13b"},
    HubCopy{"llama-3-70b-fp16", "llama-3-70b"},
    HubCopy{"llama-3.1-405b-bnb-nf4-bf16", "llama-3.1-405b"},
    HubCopy{"tinyllama_v1.1", "tinyllama-1.1b"},
    HubCopy{"zephyr-7b-sft-full", "mistral-7b"},
    HubCopy{"zephyr-7b-sft-qlora", "mistral-7b"},
    HubCopy{"zephyr-7b-beta", "mistral-7b"},
    HubCopy{"mistral-7b-sft-constitutional-ai", "mistral-7b"},
    HubCopy{"zephyr-7b-gemma", "gemma-7b"},
    HubCopy{"qwen2-7b", "qwen2.5-7b"},
    HubCopy{"mistral-7b-instruct-v0.3", "mistral-7b-v0.3"},
    HubCopy{"phi-3-mini-4k-instruct", "phi-3-mini"},
    HubCopy{"smollm3-3b-checkpoints", "smollm3-3b"},
    // config.json of each has the sizes of the model that it was tuned from.
    HubCopy{"vicuna-7b-v1.3", "llama-7b"},
    HubCopy{"vicuna-13b-v1.3", "llama-13b"},
    HubCopy{"vicuna-7b-v1.1", "llama-7b"},
    HubCopy{"vicuna-13b-v1.1", "llama-13b"},
    HubCopy{"open_llama_7b", "llama-7b"},
    HubCopy{"open_llama_7b_v2", "llama-7b"},
    HubCopy{"open_llama_13b", "llama-13b"},
    HubCopy{"deepseek-r1-distill-llama-8b", "llama-3.1-8b"},
    HubCopy{"deepseek-r1-distill-llama-70b", "llama-3.1-70b"},
    HubCopy{"deepseek-r1-distill-qwen-7b", "qwen2.5-7b"},
    HubCopy{"deepseek-r1-distill-qwen-14b", "qwen2.5-14b"},
    HubCopy{"deepseek-r1-distill-qwen-32b", "qwen2.5-32b"},
    HubCopy{"deepcoder-14b-preview", "qwen2.5-14b"},
    HubCopy{"qwen2.5-math-1.5b", "qwen2.5-1.5b"},
    HubCopy{"qwen2.5-math-7b", "qwen2.5-7b"},
    HubCopy{"qwen2.5-math-72b", "qwen2.5-72b"},
    HubCopy{"qwen2.5-math-7b-rope-300k", "qwen2.5-7b"},
    HubCopy{"qwen2.5-coder-0.5b", "qwen2.5-0.5b"},
    HubCopy{"qwen2.5-coder-1.5b", "qwen2.5-1.5b"},
    HubCopy{"qwen2.5-coder-3b", "qwen2.5-3b"},
    HubCopy{"qwen2.5-coder-7b", "qwen2.5-7b"},
    HubCopy{"qwen2.5-coder-14b", "qwen2.5-14b"},
    HubCopy{"qwen2.5-coder-32b", "qwen2.5-32b"},
    HubCopy{"qwq-32b", "qwen2.5-32b"},
    HubCopy{"qwq-32b-preview", "qwen2.5-32b"},
    HubCopy{"qwen2-72b", "qwen2.5-72b"},
    HubCopy{"magistral-small-2506", "mistral-small-24b"},
    HubCopy{"phi-3.5-mini-instruct", "phi-3-mini"},
    HubCopy{"phi-3-mini-128k-instruct", "phi-3-mini"},
    HubCopy{"hermes-3-llama-3.1-8b", "llama-3.1-8b"},
    HubCopy{"bert-base-uncased", "bert-base"},
    HubCopy{"bert-large-uncased", "bert-large"},
    HubCopy{"llama-3.1-tulu-3-8b-dpo", "llama-3.1-tulu-3-8b"},
    HubCopy{"llama-3.1-tulu-3-70b-dpo", "llama-3.1-tulu-3-70b"},
    HubCopy{"llama-3.1-nemotron-70b-instruct-hf", "llama-3.1-70b"},
    HubCopy{"llama-3.1-nemotron-nano-8b-v1", "llama-3.1-8b"},
    HubCopy{"llama-guard-3-8b", "llama-3.1-8b"},
    HubCopy{"deepseek-r1-0528-qwen3-8b", "qwen3-8b"},
    HubCopy{"deepseek-math-7b", "deepseek-llm-7b"},
    HubCopy{"qwen3-coder-30b-a3b", "qwen3-30b-a3b"},
    HubCopy{"phi-4-reasoning", "phi-4"},
    HubCopy{"phi-4-reasoning-plus", "phi-4"},
    HubCopy{"phi-4-mini-reasoning", "phi-4-mini"},
    HubCopy{"phi-3-medium-128k-instruct", "phi-3-medium"},
    HubCopy{"codegemma-2b", "gemma-2b"},
    HubCopy{"codegemma-7b", "gemma-7b"},
    HubCopy{"codegemma-7b-it", "gemma-7b"},
    HubCopy{"gemma-1.1-2b-it", "gemma-2b"},
    HubCopy{"gemma-1.1-7b-it", "gemma-7b"},
    HubCopy{"mathstral-7b-v0.1", "mistral-7b-v0.3"},
    HubCopy{"mistral-7b-sft-beta", "mistral-7b"},
    HubCopy{"devstral-small-2505", "mistral-small-24b"},
    HubCopy{"devstral-small-2507", "mistral-small-24b"},
    HubCopy{"yi-1.5-6b", "yi-6b"},
    HubCopy{"yi-1.5-9b", "yi-9b"},
    HubCopy{"yi-1.5-34b", "yi-34b"},
    HubCopy{"starcoderbase", "starcoder"},
    HubCopy{"granite-3.1-2b", "granite-3.0-2b"},
    HubCopy{"granite-3.1-8b", "granite-3.0-8b"},
    HubCopy{"olmo-2-1124-7b", "olmo-2-7b"},
    HubCopy{"olmo-2-1124-13b", "olmo-2-13b"},
    HubCopy{"olmo-2-0425-1b", "olmo-2-1b"},
    HubCopy{"olmo-2-0325-32b", "olmo-2-32b"},
    HubCopy{"olmo-7b-0724-hf", "olmo-7b"},
    HubCopy{"tinyllama-1.1b-intermediate-step-1431k-3t", "tinyllama-1.1b"},
};

/// Another spelling of the same name.
struct HubName {
  std::string_view name;
  std::string_view same;
};

constexpr std::array kHubNames{
    HubName{"smollm-135m", "smollm2-135m"},       HubName{"open_llama_3b", "open-llama-3b"},
    HubName{"open_llama_3b_v2", "open-llama-3b"}, HubName{"glm-4-9b-0414", "glm-4-9b"},
    HubName{"smollm-360m", "smollm2-360m"},       HubName{"smollm-1.7b", "smollm2-1.7b"}};

/// What names of fine-tuned and quantised models end in.
constexpr std::array<std::string_view, 23> kHubEndings{
    "-pt",       "-dpo",      "-unsloth",  "-bnb-4bit",  "-2410",
    "-hf",       "-instruct", "-chat",     "-base",      "-it",
    "-sft",      "-2507",     "-deduped",  "-v0.1",      "-v0.2",
    "-v0.3",     "-gptq",     "-awq",      "-gptq-int4", "-aqlm-2bit-1x16",
    "-sft-v0.1", "-sft-v0.2", "-chat-v1.0"};

/// torch_dtype in config.json of each preset's hub id.
struct CheckpointType {
  std::string_view preset;
  std::string_view type;
};

constexpr std::array kCheckpointTypes{
    CheckpointType{"gpt2", "fp32"},           CheckpointType{"gpt2-medium", "fp32"},
    CheckpointType{"gpt2-large", "fp32"},     CheckpointType{"gpt2-xl", "fp32"},
    CheckpointType{"opt-125m", "fp16"},       CheckpointType{"opt-350m", "fp16"},
    CheckpointType{"opt-1.3b", "fp16"},       CheckpointType{"opt-2.7b", "fp16"},
    CheckpointType{"opt-6.7b", "fp16"},       CheckpointType{"opt-13b", "fp16"},
    CheckpointType{"llama-7b", "fp16"},       CheckpointType{"llama-2-7b", "fp16"},
    CheckpointType{"llama-2-13b", "fp16"},    CheckpointType{"llama-2-70b", "fp16"},
    CheckpointType{"llama-3-8b", "bf16"},     CheckpointType{"llama-3-70b", "bf16"},
    CheckpointType{"llama-3.1-8b", "bf16"},   CheckpointType{"llama-3.1-70b", "bf16"},
    CheckpointType{"llama-3.1-405b", "bf16"}, CheckpointType{"llama-3.2-1b", "bf16"},
    CheckpointType{"llama-3.2-3b", "bf16"},   CheckpointType{"tinyllama-1.1b", "bf16"},
    CheckpointType{"mistral-7b", "bf16"},     CheckpointType{"mixtral-8x7b", "bf16"},
    CheckpointType{"gemma-2b", "bf16"},       CheckpointType{"gemma-7b", "bf16"},
    CheckpointType{"qwen2-0.5b", "bf16"},     CheckpointType{"qwen2-1.5b", "bf16"},
    CheckpointType{"qwen2.5-0.5b", "bf16"},   CheckpointType{"qwen2.5-1.5b", "bf16"},
    CheckpointType{"qwen2.5-3b", "bf16"},     CheckpointType{"qwen2.5-7b", "bf16"},
    CheckpointType{"qwen2.5-14b", "bf16"},    CheckpointType{"qwen2.5-32b", "bf16"},
    CheckpointType{"qwen2.5-72b", "bf16"},    CheckpointType{"qwen3-0.6b", "bf16"},
    CheckpointType{"qwen3-8b", "bf16"},       CheckpointType{"deepseek-v3", "bf16"},
};

/// Modules of the model classes in transformers 5.23 that are torch.nn.Linear or Conv1D; experts
/// are parameters, not layers. The head is left out (peft 0.21 tuners/tuners_utils.py
/// _maybe_include_all_linear_layers).
struct FamilyLayers {
  std::string_view family;
  std::string_view layers;
};

constexpr std::string_view kGatedDecoder =
    "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj";

constexpr std::string_view kAttentionOnly = "q_proj,k_proj,v_proj,o_proj";

constexpr std::array kFamilyLayers{
    FamilyLayers{"llama", kGatedDecoder},
    FamilyLayers{"mistral", kGatedDecoder},
    FamilyLayers{"gemma", kGatedDecoder},
    FamilyLayers{"qwen2", kGatedDecoder},
    FamilyLayers{"qwen3", kGatedDecoder},
    FamilyLayers{"gemma2", kGatedDecoder},
    FamilyLayers{"gemma3_text", kGatedDecoder},
    FamilyLayers{"granite", kGatedDecoder},
    FamilyLayers{"olmo", kGatedDecoder},
    FamilyLayers{"olmo2", kGatedDecoder},
    FamilyLayers{"smollm3", kGatedDecoder},
    FamilyLayers{"stablelm", kGatedDecoder},
    FamilyLayers{"glm4", "q_proj,k_proj,v_proj,o_proj,gate_up_proj,down_proj"},
    FamilyLayers{"phi", "q_proj,k_proj,v_proj,dense,fc1,fc2"},
    FamilyLayers{"phi3", "qkv_proj,o_proj,gate_up_proj,down_proj"},
    FamilyLayers{"starcoder2", "q_proj,k_proj,v_proj,o_proj,c_fc,c_proj"},
    FamilyLayers{"gpt_neox", "query_key_value,dense,dense_h_to_4h,dense_4h_to_h"},
    FamilyLayers{"mixtral", kAttentionOnly},
    FamilyLayers{"qwen3_moe", kAttentionOnly},
    FamilyLayers{"olmoe", kAttentionOnly},
    FamilyLayers{"gpt_oss", kAttentionOnly},
    FamilyLayers{"gpt2", "c_attn,c_proj,c_fc"},
    FamilyLayers{"gpt_bigcode", "c_attn,c_proj,c_fc"},
    FamilyLayers{"opt", "q_proj,k_proj,v_proj,out_proj,fc1,fc2"},
    FamilyLayers{"biogpt", "q_proj,k_proj,v_proj,out_proj,fc1,fc2"},
    FamilyLayers{"bloom", "query_key_value,dense,dense_h_to_4h,dense_4h_to_h"},
    FamilyLayers{"gpt_neo", "q_proj,k_proj,v_proj,out_proj,c_fc,c_proj"},
    FamilyLayers{"gptj", "q_proj,k_proj,v_proj,out_proj,fc_in,fc_out"},
    FamilyLayers{"codegen", "qkv_proj,out_proj,fc_in,fc_out"},
    FamilyLayers{"t5", "q,k,v,o,wi,wo"},
};

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return lower;
}

std::string last_part(std::string_view path) {
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return in_lower_case(path.substr(path.rfind('/') + 1));
}

/// The preset that is called `name`; empty if none is.
std::string known_by_name(std::string_view name) {
  const auto* const same = std::ranges::find(kHubNames, name, &HubName::name);
  const std::string_view own = same == kHubNames.end() ? name : same->same;
  const auto* const copy = std::ranges::find(kHubCopies, own, &HubCopy::name);
  if (copy != kHubCopies.end()) {
    return std::string(copy->preset);
  }
  return find_model_preset(own) == nullptr ? std::string() : std::string(own);
}

std::string_view without_ending(std::string_view name) {
  for (const std::string_view ending : kHubEndings) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
}

/// Without "meta-" in front, and without one ending after the other.
std::string known_by_part(std::string_view name) {
  const std::string_view plain = name.starts_with("meta-") ? name.substr(5) : name;
  std::string known = known_by_name(plain);
  std::string_view shorter = plain;
  while (known.empty() && without_ending(shorter) != shorter) {
    shorter = without_ending(shorter);
    known = known_by_name(shorter);
  }
  return known;
}

std::optional<ModelSpec> spec_of(std::string_view word) {
  if (word.starts_with('{')) {
    return model_from_text(std::string(word), "the hub's config.json");
  }
  const ModelSpec* const preset = find_model_preset(word);
  return preset == nullptr ? std::nullopt : std::optional(*preset);
}

}  // namespace

std::string preset_of(std::string_view name) {
  if (find_model_preset(name) != nullptr || name.starts_with('{')) {
    return std::string(name);
  }
  const std::string known = known_by_part(last_part(name));
  return known.empty() ? std::string(name) : known;
}

std::optional<std::string_view> checkpoint_type(std::string_view preset) {
  if (preset.starts_with('{')) {
    return "bf16";
  }
  const ModelSpec* const model = find_model_preset(preset);
  const std::string_view name = model == nullptr ? preset : std::string_view(model->name);
  const auto* const row = std::ranges::find(kCheckpointTypes, name, &CheckpointType::preset);
  if (row != kCheckpointTypes.end()) {
    return row->type;
  }
  const auto published = std::ranges::find(published_models(), name, &PublishedModel::name);
  return published == published_models().end() ? std::nullopt : std::optional(published->weights);
}

std::string all_linear_layers(std::string_view preset) {
  const auto model = spec_of(preset);
  const auto* const row =
      model ? std::ranges::find(kFamilyLayers, family_name(*model), &FamilyLayers::family)
            : kFamilyLayers.end();
  return row == kFamilyLayers.end() ? std::string() : std::string(row->layers);
}

std::string family_of(std::string_view preset) {
  const auto model = spec_of(preset);
  return model ? std::string(family_name(*model)) : std::string();
}

std::optional<long long> hidden_size_of(std::string_view preset) {
  const auto model = spec_of(preset);
  return model ? std::optional<long long>(shape_of(*model).hidden) : std::nullopt;
}

}  // namespace highwater::program_table
