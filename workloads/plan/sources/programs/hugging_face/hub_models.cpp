#include "workloads/plan/sources/programs/hugging_face/hub_models.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"

namespace highwater::program_table {
namespace {

struct HubCopy {
  std::string_view name;  ///< in lower case, without its owner
  std::string_view preset;
};

constexpr std::array kHubCopies{
    HubCopy{"vicuna-7b-v1.5", "llama-2-7b"},
    HubCopy{"vicuna-13b-v1.5", "llama-2-13b"},
    HubCopy{"llama-13b", "llama-2-13b"},
    HubCopy{"llama-3-70b-fp16", "llama-3-70b"},
    HubCopy{"llama-3.1-405b-bnb-nf4-bf16", "llama-3.1-405b"},
    HubCopy{"tinyllama_v1.1", "tinyllama-1.1b"},
    HubCopy{"zephyr-7b-sft-full", "mistral-7b"},
    HubCopy{"zephyr-7b-sft-qlora", "mistral-7b"},
    HubCopy{"zephyr-7b-beta", "mistral-7b"},
    HubCopy{"mistral-7b-sft-constitutional-ai", "mistral-7b"},
    HubCopy{"zephyr-7b-gemma", "gemma-7b"},
    HubCopy{"qwen2-7b", "qwen2.5-7b"},
};

/// Sizes of models that are no presets.
struct HubConfig {
  std::string_view name;  ///< in lower case, without its owner
  std::string_view config;
};

constexpr std::array kHubConfigs{
    HubConfig{"qwen3-1.7b",
              R"({"model_type":"qwen3","hidden_size":2048,"num_hidden_layers":28,)"
              R"("num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,)"
              R"("intermediate_size":6144,"vocab_size":151936,"tie_word_embeddings":true})"},
    HubConfig{"qwen3-4b",
              R"({"model_type":"qwen3","hidden_size":2560,"num_hidden_layers":36,)"
              R"("num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,)"
              R"("intermediate_size":9728,"vocab_size":151936,"tie_word_embeddings":true})"},
    HubConfig{"qwen3-14b",
              R"({"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":40,)"
              R"("num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,)"
              R"("intermediate_size":17408,"vocab_size":151936,"tie_word_embeddings":false})"},
    HubConfig{"qwen3-32b",
              R"({"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":64,)"
              R"("num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,)"
              R"("intermediate_size":25600,"vocab_size":151936,"tie_word_embeddings":false})"},
    HubConfig{"qwen1.5-1.8b",
              R"({"model_type":"qwen2","hidden_size":2048,"num_hidden_layers":24,)"
              R"("num_attention_heads":16,"num_key_value_heads":16,)"
              R"("intermediate_size":5504,"vocab_size":151936,"tie_word_embeddings":false})"},
    HubConfig{"smollm2-135m",
              R"({"model_type":"llama","hidden_size":576,"num_hidden_layers":30,)"
              R"("num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,)"
              R"("vocab_size":49152,"max_position_embeddings":8192,"tie_word_embeddings":true})"},
    HubConfig{"smollm2-360m",
              R"({"model_type":"llama","hidden_size":960,"num_hidden_layers":32,)"
              R"("num_attention_heads":15,"num_key_value_heads":5,"intermediate_size":2560,)"
              R"("vocab_size":49152,"max_position_embeddings":8192,"tie_word_embeddings":true})"},
    HubConfig{"smollm2-1.7b",
              R"({"model_type":"llama","hidden_size":2048,"num_hidden_layers":24,)"
              R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":8192,)"
              R"("vocab_size":49152,"max_position_embeddings":8192,"tie_word_embeddings":true})"},
    HubConfig{"codellama-7b",
              R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
              R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":11008,)"
              R"("vocab_size":32016,"max_position_embeddings":16384,)"
              R"("tie_word_embeddings":false})"},
    HubConfig{"mixtral-8x22b",
              R"({"model_type":"mixtral","hidden_size":6144,"num_hidden_layers":56,)"
              R"("num_attention_heads":48,"num_key_value_heads":8,"intermediate_size":16384,)"
              R"("vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2,)"
              R"("max_position_embeddings":65536,"tie_word_embeddings":false})"},
    HubConfig{"opt-66b", R"({"model_type":"opt","hidden_size":9216,"word_embed_proj_dim":9216,)"
                         R"("num_hidden_layers":64,"num_attention_heads":72,"ffn_dim":36864,)"
                         R"("vocab_size":50272,"max_position_embeddings":2048})"},
};

/// Another spelling of the same name.
struct HubName {
  std::string_view name;
  std::string_view same;
};

constexpr std::array kHubNames{HubName{"smollm-360m", "smollm2-360m"},
                               HubName{"smollm-1.7b", "smollm2-1.7b"}};

/// What names of fine-tuned and quantised models end in.
constexpr std::array<std::string_view, 18> kHubEndings{
    "-hf",   "-instruct",  "-chat",           "-base",     "-it",       "-sft",
    "-2507", "-deduped",   "-v0.1",           "-v0.2",     "-v0.3",     "-gptq",
    "-awq",  "-gptq-int4", "-aqlm-2bit-1x16", "-sft-v0.1", "-sft-v0.2", "-chat-v1.0"};

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
    CheckpointType{"qwen3-4b", "bf16"},       CheckpointType{"qwen3-8b", "bf16"},
    CheckpointType{"deepseek-v3", "bf16"},
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

constexpr std::array kFamilyLayers{
    FamilyLayers{"llama", kGatedDecoder},
    FamilyLayers{"mistral", kGatedDecoder},
    FamilyLayers{"gemma", kGatedDecoder},
    FamilyLayers{"qwen2", kGatedDecoder},
    FamilyLayers{"qwen3", kGatedDecoder},
    FamilyLayers{"mixtral", "q_proj,k_proj,v_proj,o_proj"},
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

/// The preset or the text of a config.json that is called `name`; empty if none is.
std::string known_by_name(std::string_view name) {
  const auto* const same = std::ranges::find(kHubNames, name, &HubName::name);
  const std::string_view own = same == kHubNames.end() ? name : same->same;
  const auto* const copy = std::ranges::find(kHubCopies, own, &HubCopy::name);
  const auto* const config = std::ranges::find(kHubConfigs, own, &HubConfig::name);
  if (copy != kHubCopies.end()) {
    return std::string(copy->preset);
  }
  if (config != kHubConfigs.end()) {
    return std::string(config->config);
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
    return preset.find("\"opt\"") == std::string_view::npos ? "bf16" : "fp16";
  }
  const ModelSpec* const model = find_model_preset(preset);
  const auto* const row =
      std::ranges::find(kCheckpointTypes, model == nullptr ? preset : std::string_view(model->name),
                        &CheckpointType::preset);
  return row == kCheckpointTypes.end() ? std::nullopt : std::optional(row->type);
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
