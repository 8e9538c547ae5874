#include "workloads/sources/programs/pytorch/torchtune_models.hpp"

#include <algorithm>
#include <array>

#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/listed_models.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/sources/rules/decoder_facts.hpp"

namespace highwater::program_table {
namespace {

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
  const ListedModel* const model = find_listed(&ListedModel::torchtune, builder);
  return model == nullptr ? "" : std::string(model->name);
}

std::string foreign_family(const std::string& model) {
  const ModelSpec* const preset = find_model_preset(model);
  const std::string_view family = preset == nullptr ? "" : family_name(*preset);
  constexpr std::array<std::string_view, 5> kForeign{"gemma", "gemma2", "phi3", "qwen3", "mixtral"};
  return std::ranges::find(kForeign, family) == kForeign.end() ? "" : std::string(family);
}

}  // namespace highwater::program_table
