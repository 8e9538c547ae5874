#include "workloads/sources/programs/hugging_face/hub_models.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "workloads/facts/facts.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/hub_cache.hpp"
#include "workloads/plan/catalog/listed_models.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"

namespace highwater::program_table {
namespace {

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
  if (const ListedModel* const model = find_listed(&ListedModel::copies, name)) {
    return std::string(model->name);
  }
  return find_model_preset(name) == nullptr ? std::string() : std::string(name);
}

std::string_view without_ending(std::string_view name) {
  static const std::vector<std::string_view> kEndings = facts("models.json").views("copy_endings");
  for (const std::string_view ending : kEndings) {
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
  if (preset != nullptr) {
    return *preset;
  }
  return cached_config(word) ? find_named_model(std::string(word)) : std::nullopt;
}

/// The type that a config.json names; bf16 where it names none, as most are.
std::string_view type_in(const std::string& config_text) {
  const bool is_fp32 = config_text.find("dtype\":\"float32\"") != std::string::npos;
  const bool is_fp16 = config_text.find("dtype\":\"float16\"") != std::string::npos;
  return is_fp32 ? "fp32" : is_fp16 ? "fp16" : "bf16";
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
  if (const auto cached = model == nullptr ? spec_of(preset) : std::nullopt) {
    return type_in(cached->config_text);
  }
  const std::string_view name = model == nullptr ? preset : std::string_view(model->name);
  const auto listed = std::ranges::find(listed_models(), name, &ListedModel::name);
  const bool is_known = listed != listed_models().end() && !listed->weights.empty();
  return is_known ? std::optional(listed->weights) : std::nullopt;
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
