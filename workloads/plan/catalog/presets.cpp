#include "workloads/plan/catalog/presets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/published_models.hpp"
#include "workloads/plan/model/families/all_families.hpp"
#include "workloads/plan/model/preset_list.hpp"

namespace highwater {
namespace {

ModelSpec published_spec(const PublishedModel& model) {
  ModelSpec spec = model_from_text(model.config, model.hub_id);
  spec.name = model.name;
  spec.source = std::string(kModelHub).append(model.hub_id);
  spec.family_defaults.clear();
  return spec;
}

PresetList list_presets() {
  PresetList list;
  for (const Family* family : all_families()) {
    family->add_presets(list);
  }
  for (const PublishedModel& model : published_models()) {
    list.add(published_spec(model));
  }
  return list;
}

const PresetList& presets() {
  static const PresetList list = list_presets();
  return list;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_called(const ModelSpec& spec, std::string_view wanted) {
  return lower(spec.name) == wanted || lower(spec.source) == lower(kModelHub).append(wanted);
}

/// Repositories whose config.json has the sizes of a preset.
constexpr auto kSameSizes = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"meta-llama/Llama-2-7b", "llama-2-7b"},
    {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
    {"meta-llama/Llama-2-13b", "llama-2-13b"},
    {"meta-llama/Llama-2-13b-chat-hf", "llama-2-13b"},
    {"meta-llama/Llama-2-70b", "llama-2-70b"},
    {"meta-llama/Llama-2-70b-chat-hf", "llama-2-70b"},
    {"meta-llama/Meta-Llama-3.1-8B", "llama-3.1-8b"},
    {"meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b"},
    {"meta-llama/Meta-Llama-3.1-405B", "llama-3.1-405b"},
    {"meta-llama/Llama-3.3-70B", "llama-3.1-70b"},
    {"Qwen/Qwen2-7B", "qwen2.5-7b"},
    {"Qwen/Qwen2-72B", "qwen2.5-72b"},
    {"Qwen/Qwen2.5-Coder-7B", "qwen2.5-7b"},
    {"Qwen/Qwen2.5-Coder-32B", "qwen2.5-32b"},
    {"Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"},
    {"Qwen/Qwen3-4B-Thinking-2507", "qwen3-4b"},
    {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
    {"Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b"},
    {"Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"},
    {"Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-235b-a22b"},
    {"google/gemma-3-1b", "gemma-3-1b"},
    {"mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"},
    {"mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b"},
    {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"},
    {"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama-3.1-70b"},
    {"mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b"},
    {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
    {"bigscience/bloomz-560m", "bloom-560m"},
    {"bigscience/bloomz-1b1", "bloom-1b1"},
    {"bigscience/bloomz-3b", "bloom-3b"},
    {"bigscience/bloomz-7b1", "bloom-7b1"},
    {"bigscience/bloomz", "bloom-176b"},
    {"Salesforce/codegen-350M-mono", "codegen-350M"},
    {"Salesforce/codegen-350M-multi", "codegen-350M"},
    {"Salesforce/codegen-2B-mono", "codegen-2B"},
    {"Salesforce/codegen-2B-multi", "codegen-2B"},
    {"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
    {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
});

/// Endings under which the publishers of the presets put out the same sizes, trained otherwise.
constexpr std::array<std::string_view, 3> kVersionsOfSameSizes{"-instruct", "-it", "-base"};

std::string_view without_version(std::string_view name) {
  for (const std::string_view ending : kVersionsOfSameSizes) {
    if (name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
}

/// The preset's name where `wanted` (in lower case) is an alias or has the same sizes.
std::string preset_name(const std::string& wanted) {
  const auto* const found =
      std::ranges::find_if(kSameSizes, [&](const auto& row) { return lower(row.first) == wanted; });
  return lower(found == kSameSizes.end() ? presets().name_of(wanted) : found->second);
}

/// At most a third of the characters differ, or one name has the other within it.
bool is_near(std::string_view wanted, std::string_view name) {
  constexpr std::size_t kLeast = 4;  // "t5" is within too many words
  const auto contains = [](std::string_view whole, std::string_view part) {
    return part.size() >= kLeast && whole.find(part) != std::string_view::npos;
  };
  return edit_distance(wanted, name) * 3 <= wanted.size() || contains(wanted, name) ||
         contains(name, wanted);
}

/// The three names nearest to `wanted`, without the owner of a repository; none if none is near.
std::vector<std::string> nearest_names(std::string_view wanted) {
  wanted.remove_prefix(wanted.find('/') + 1);  // npos + 1 is 0
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const ModelSpec& spec : model_presets()) {
    if (const std::string name = lower(spec.name); is_near(wanted, name)) {
      ranked.emplace_back(edit_distance(wanted, name), "'" + spec.name + "'");
    }
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kShown, ranked.size()); ++i) {
    names.push_back(ranked[i].second);
  }
  return names;
}

}  // namespace

std::span<const ModelSpec> model_presets() {
  return presets().specs();
}

const ModelSpec* find_model_preset(std::string_view name) {
  const std::string given = lower(name);
  const auto specs = model_presets();
  for (const std::string_view base : {std::string_view(given), without_version(given)}) {
    const std::string wanted = preset_name(std::string(base));
    const auto found =
        std::ranges::find_if(specs, [&](const ModelSpec& spec) { return is_called(spec, wanted); });
    if (found != specs.end()) {
      return &*found;
    }
  }
  return nullptr;
}

std::string unknown_model(std::string_view name) {
  const std::vector<std::string> nearest = nearest_names(lower(name));
  return nearest.empty()
             ? "no such model, and none of a similar name; give its config.json ('highwater "
               "models' "
               "lists all names)"
             : fmt::format(
                   "no such model; nearest names: {}; 'highwater models' lists all, and a "
                   "config.json file is taken as well",
                   fmt::join(nearest, ", "));
}

const ModelSpec& model_preset(std::string_view name) {
  const ModelSpec* const found = find_model_preset(name);
  if (found == nullptr) {
    throw UsageError(fmt::format("'{}': {}", name, unknown_model(name)));
  }
  return *found;
}

}  // namespace highwater
