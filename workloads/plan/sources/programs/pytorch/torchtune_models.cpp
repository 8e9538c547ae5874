#include "workloads/plan/sources/programs/pytorch/torchtune_models.hpp"

#include <algorithm>
#include <array>

#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/sources/rules/decoder_facts.hpp"
#include "workloads/plan/sources/rules/key_rule.hpp"

namespace highwater::program_table {
namespace {

/// A builder of torchtune and the preset of the same decoder.
constexpr std::array kTuneModels{
    ValueWord{"llama2_7b", "llama-2-7b"},
    ValueWord{"llama2_13b", "llama-2-13b"},
    ValueWord{"llama2_70b", "llama-2-70b"},
    ValueWord{"code_llama2_7b", "llama-2-7b"},
    ValueWord{"code_llama2_13b", "llama-2-13b"},
    ValueWord{"code_llama2_70b", "llama-2-70b"},
    ValueWord{"llama3_8b", "llama-3-8b"},
    ValueWord{"llama3_70b", "llama-3-70b"},
    ValueWord{"llama3_1_8b", "llama-3.1-8b"},
    ValueWord{"llama3_1_70b", "llama-3.1-70b"},
    ValueWord{"llama3_1_405b", "llama-3.1-405b"},
    ValueWord{"llama3_2_1b", "llama-3.2-1b"},
    ValueWord{"llama3_2_3b", "llama-3.2-3b"},
    ValueWord{"llama3_3_70b", "llama-3.1-70b"},
    ValueWord{"mistral_7b", "mistral-7b"},
    ValueWord{"gemma_2b", "gemma-2b"},
    ValueWord{"gemma_7b", "gemma-7b"},
    ValueWord{"qwen2_0_5b", "qwen2-0.5b"},
    ValueWord{"qwen2_1_5b", "qwen2-1.5b"},
    ValueWord{"qwen2_7b", "qwen2.5-7b"},
    ValueWord{"qwen2_5_0_5b", "qwen2.5-0.5b"},
    ValueWord{"qwen2_5_1_5b", "qwen2.5-1.5b"},
    ValueWord{"qwen2_5_3b", "qwen2.5-3b"},
    ValueWord{"qwen2_5_7b", "qwen2.5-7b"},
    ValueWord{"qwen2_5_14b", "qwen2.5-14b"},
    ValueWord{"qwen2_5_32b", "qwen2.5-32b"},
    ValueWord{"qwen2_5_72b", "qwen2.5-72b"},
    ValueWord{"qwen3_0_6b", "qwen3-0.6b"},
    ValueWord{"qwen3_1_7b", "qwen3-1.7b"},
    ValueWord{"qwen3_4b", "qwen3-4b"},
    ValueWord{"qwen3_8b", "qwen3-8b"},
    ValueWord{"qwen3_14b", "qwen3-14b"},
    ValueWord{"qwen3_32b", "qwen3-32b"},
    ValueWord{"gemma2_2b", "gemma-2-2b"},
    ValueWord{"gemma2_9b", "gemma-2-9b"},
    ValueWord{"gemma2_27b", "gemma-2-27b"},
    ValueWord{"phi3_mini", "phi-3-mini"},
    ValueWord{"phi4_14b", "phi-4"},
};

std::string without_end(std::string name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

std::int64_t size_of(const SettingList& all, std::string_view key) {
  return all.whole(key).value_or(0);
}

/// torchtune.models.llama2.llama2 and others take their sizes from the file.
std::string model_of_sizes(const SettingList& all) {
  const std::int64_t hidden = size_of(all, "model.embed_dim");
  const std::int64_t ffn = size_of(all, "model.intermediate_dim");
  constexpr std::int64_t kMultiple = 256;
  const std::int64_t scaled = (8 * hidden / 3 + kMultiple - 1) / kMultiple * kMultiple;
  return decoder_word({.layers = size_of(all, "model.num_layers"),
                       .hidden = hidden,
                       .heads = size_of(all, "model.num_heads"),
                       .kv_heads = size_of(all, "model.num_kv_heads"),
                       .ffn = ffn > 0 ? ffn : scaled,
                       .vocab = size_of(all, "model.vocab_size"),
                       .is_gated = true,
                       .has_rms_norm = true,
                       .has_rotary = true})
      .value_or("");
}

}  // namespace

BuilderName builder_name(const std::string& component) {
  BuilderName name{.model = component.substr(component.rfind('.') + 1)};
  for (const std::string_view prefix :
       std::array<std::string_view, 4>{"qlora_", "lora_", "qdora_", "dora_"}) {
    if (name.model.starts_with(prefix)) {
      name.model = name.model.substr(prefix.size());
      name.has_adapters = true;
      name.is_quantised = prefix.starts_with('q');
      name.has_magnitudes = prefix.ends_with("dora_");
      break;
    }
  }
  name.model = without_end(without_end(name.model, "_base"), "_instruct");
  return name;
}

std::string tune_model(const std::string& builder, const SettingList& all) {
  if (size_of(all, "model.embed_dim") > 0 && size_of(all, "model.num_layers") > 0) {
    return model_of_sizes(all);
  }
  const auto* const row = std::ranges::find(kTuneModels, builder, &ValueWord::value);
  return row == kTuneModels.end() ? "" : std::string(row->word);
}

std::string foreign_family(const std::string& model) {
  const ModelSpec* const preset = find_model_preset(model);
  const std::string_view family = preset == nullptr ? "" : family_name(*preset);
  constexpr std::array<std::string_view, 5> kForeign{"gemma", "gemma2", "phi3", "qwen3", "mixtral"};
  return std::ranges::find(kForeign, family) == kForeign.end() ? "" : std::string(family);
}

}  // namespace highwater::program_table
