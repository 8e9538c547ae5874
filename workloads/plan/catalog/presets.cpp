#include "workloads/plan/catalog/presets.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/families/all_families.hpp"
#include "workloads/plan/model/preset_list.hpp"

namespace highwater {
namespace {

PresetList list_presets() {
  PresetList list;
  for (const Family* family : all_families()) {
    family->add_presets(list);
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

/// The three names nearest to `wanted`; those that contain it count as near.
std::vector<std::string> nearest_names(const std::string& wanted) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const ModelSpec& spec : model_presets()) {
    const std::string name = lower(spec.name);
    const bool contains = !wanted.empty() && name.find(wanted) != std::string::npos;
    ranked.emplace_back(contains ? 1 : edit_distance(wanted, name), spec.name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kShown; ++i) {
    names.push_back("'" + ranked[i].second + "'");
  }
  return names;
}

}  // namespace

std::span<const ModelSpec> model_presets() {
  return presets().specs();
}

const ModelSpec* find_model_preset(std::string_view name) {
  const std::string given = lower(name);
  const std::string wanted = lower(presets().name_of(given));
  const auto specs = model_presets();
  const auto found =
      std::ranges::find_if(specs, [&](const ModelSpec& spec) { return is_called(spec, wanted); });
  return found == specs.end() ? nullptr : &*found;
}

std::string unknown_model(std::string_view name) {
  return fmt::format(
      "no such model; nearest names: {}; 'highwater models' lists all, and a config.json file is "
      "taken as well",
      fmt::join(nearest_names(lower(name)), ", "));
}

const ModelSpec& model_preset(std::string_view name) {
  const ModelSpec* const found = find_model_preset(name);
  if (found == nullptr) {
    throw UsageError(fmt::format("'{}': {}", name, unknown_model(name)));
  }
  return *found;
}

}  // namespace highwater
