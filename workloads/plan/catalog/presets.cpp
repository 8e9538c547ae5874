#include "workloads/plan/catalog/presets.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/facts/facts.hpp"
#include "workloads/plan/catalog/hub_cache.hpp"
#include "workloads/plan/catalog/listed_models.hpp"

namespace highwater {
namespace {

std::vector<ModelSpec> list_presets() {
  std::vector<ModelSpec> specs;
  std::ranges::transform(listed_models(), std::back_inserter(specs), spec_of);
  return specs;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

using SpecsByName = std::unordered_map<std::string, const ModelSpec*>;

/// By every name, in lower case.
SpecsByName specs_by_name() {
  SpecsByName specs;
  for (std::size_t i = 0; i < listed_models().size(); ++i) {
    const ListedModel& model = listed_models()[i];
    const ModelSpec* const spec = &model_presets()[i];
    specs.emplace(lower(model.name), spec);
    for (const std::string_view alias : model.aliases) {
      specs.emplace(lower(alias), spec);
    }
    if (!model.hub_id.empty()) {
      specs.emplace(lower(model.hub_id), spec);
    }
  }
  return specs;
}

const ModelSpec* find_by_name(std::string_view name) {
  static const SpecsByName kSpecs = specs_by_name();
  const auto found = kSpecs.find(std::string(name));
  return found == kSpecs.end() ? nullptr : found->second;
}

std::string_view without_version(std::string_view name) {
  static const std::vector<std::string_view> kEndings =
      facts("models.json").views("version_endings");
  for (const std::string_view ending : kEndings) {
    if (name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
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
  static const std::vector<ModelSpec> kSpecs = list_presets();
  return kSpecs;
}

const ModelSpec* find_model_preset(std::string_view name) {
  const std::string given = lower(name);
  const ModelSpec* const found = find_by_name(given);
  return found == nullptr ? find_by_name(without_version(given)) : found;
}

std::string unknown_model(std::string_view name) {
  const std::vector<std::string> nearest = nearest_names(lower(name));
  const std::string near = nearest.empty()
                               ? ", and none of a similar name"
                               : fmt::format("; nearest names: {}", fmt::join(nearest, ", "));
  const std::string remedy =
      is_hub_id(name)
          ? fmt::format(
                "its own sizes are found after 'hf download {0} config.json' (of a pipeline "
                "of diffusers: 'hf download {0} unet/config.json', or "
                "transformer/config.json, and --model diffusers:FOLDER)",
                name)
          : "give its config.json";
  return fmt::format("no such model{}; {} ('highwater models' lists all names)", near, remedy);
}

const ModelSpec& model_preset(std::string_view name) {
  const ModelSpec* const found = find_model_preset(name);
  if (found == nullptr) {
    throw UsageError(fmt::format("'{}': {}", name, unknown_model(name)));
  }
  return *found;
}

}  // namespace highwater
