#include "workloads/plan/catalog/named_model.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"

namespace highwater {

bool names_model_file(const std::string& text) {
  std::error_code ignored;
  return text.ends_with(".json") ||
         (text.find('/') != std::string::npos && std::filesystem::is_regular_file(text, ignored));
}

ModelSpec read_sound_model(const std::string& path) {
  ModelSpec spec = read_model(path);
  if (const auto problems = model_problems(spec); !problems.empty()) {
    throw InputError(path, "", fmt::format("{}", fmt::join(problems, "; ")), "");
  }
  return spec;
}

ModelSpec named_model(const std::string& text) {
  return names_model_file(text) ? read_sound_model(text) : model_preset(text);
}

}  // namespace highwater
