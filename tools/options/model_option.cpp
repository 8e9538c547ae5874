#include "tools/options/model_option.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/hf_config.hpp"
#include "workloads/plan/model/presets.hpp"

namespace highwater {
namespace {

/// Hub ids have slashes, too: those are files only if they exist.
bool is_file(const std::string& text) {
  std::error_code ignored;
  return text.ends_with(".json") ||
         (text.find('/') != std::string::npos && std::filesystem::is_regular_file(text, ignored));
}

}  // namespace

ModelSpec model_option(const std::string& text) {
  if (!is_file(text)) {
    return model_preset(printable(text));
  }
  ModelSpec spec = read_model(text);
  if (const auto problems = model_problems(spec); !problems.empty()) {
    throw InputError(text, "", fmt::format("{}", fmt::join(problems, "; ")), "");
  }
  return spec;
}

}  // namespace highwater
