#include "tools/options/formula_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

std::string unknown_formula(const std::string& option, const std::string& name) {
  const std::vector<std::string> known = formula_names();
  const auto meant = nearest_word(name, known);
  return fmt::format("--{} {}: unknown closed form; {}", option, name,
                     meant ? fmt::format("did you mean {}?", *meant)
                           : fmt::format("known: {}", fmt::join(known, ", ")));
}

}  // namespace

std::vector<std::string> formula_names() {
  std::vector<std::string> names;
  for (const Formula* formula : formulas()) {
    names.emplace_back(formula->name);
  }
  return names;
}

std::vector<const Formula*> formula_option(const boost::program_options::variables_map& values,
                                           std::vector<std::string>& problems,
                                           const std::string& option) {
  const auto given = text_option(values, option);
  if (!given || *given == "all") {
    return {formulas().begin(), formulas().end()};
  }
  std::vector<const Formula*> chosen;
  for (const std::string& name : split(*given, ',')) {
    if (name == "all") {
      return {formulas().begin(), formulas().end()};
    }
    if (const Formula* formula = find_formula(name)) {
      chosen.push_back(formula);
    } else {
      problems.push_back(unknown_formula(option, name));
    }
  }
  return chosen;
}

}  // namespace highwater
