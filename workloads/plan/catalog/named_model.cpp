#include "workloads/plan/catalog/named_model.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/hub_cache.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/other_model.hpp"

namespace highwater {

namespace {

namespace fs = std::filesystem;

bool begins_as_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
}

/// The text of a config.json itself.
bool is_config_text(std::string_view text) {
  return text.starts_with('{');
}

/// The file that `text` names: of a folder, as save_pretrained() writes one, its config.json.
std::string model_file(const std::string& text) {
  std::error_code ignored;
  if (!fs::is_directory(text, ignored)) {
    return text;
  }
  const fs::path file = fs::path(text) / "config.json";
  if (!fs::exists(file, ignored)) {
    throw InputError(text, "", "is a folder without a config.json", "name a model's config.json");
  }
  return file.string();
}

}  // namespace

bool names_model_file(const std::string& text) {
  std::error_code ignored;
  return is_config_text(text) || names_python_model(text) || text.ends_with(".json") ||
         begins_as_path(text) || (text.find('/') != std::string::npos && fs::exists(text, ignored));
}

ModelSpec read_sound_model(const std::string& text) {
  if (!is_config_text(text) && names_python_model(text)) {
    return python_model(text);
  }
  const std::string path = is_config_text(text) ? "--model {...}" : model_file(text);
  ModelSpec spec = is_config_text(text) ? model_from_text(text, path) : read_model(path);
  if (const auto problems = model_problems(spec); !problems.empty()) {
    throw InputError(path, "", fmt::format("{}", fmt::join(problems, "; ")), "");
  }
  return spec;
}

std::optional<ModelSpec> find_named_model(const std::string& text) {
  if (names_model_file(text)) {
    return read_sound_model(text);
  }
  if (const ModelSpec* const preset = find_model_preset(text)) {
    return *preset;
  }
  const std::optional<std::string> config = cached_config(text);
  if (!config) {
    return std::nullopt;
  }
  ModelSpec spec = read_sound_model(*config);
  spec.name = text;
  return spec;
}

ModelSpec named_model(const std::string& text) {
  const std::optional<ModelSpec> found = find_named_model(text);
  return found ? *found : model_preset(text);
}

}  // namespace highwater
