#include <variant>

#include "tools/shell/command_words.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater {
namespace {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelSpec& model : model_presets()) {
    names.emplace_back(model.name);
  }
  return names;
}

std::vector<std::string> plan_words_of(std::string_view name) {
  const Option* option = find_option(name);
  const auto* allowed =
      option == nullptr ? nullptr : std::get_if<AllowedWords>(&option->axis.allowed);
  return allowed == nullptr ? std::vector<std::string>{}
                            : std::vector<std::string>(allowed->list.begin(), allowed->list.end());
}

}  // namespace

std::vector<std::string> value_words(std::string_view option) {
  if (option == "format") {
    return {"table", "json", "csv", "markdown"};
  }
  if (option == "model") {
    return model_names();
  }
  return plan_words_of(option);
}

}  // namespace highwater
