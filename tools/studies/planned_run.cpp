#include "tools/studies/planned_run.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/text/safe_text.hpp"
#include "tools/text/usage_errors.hpp"
#include "workloads/plan/catalog/named_model.hpp"

namespace highwater {
namespace {

/// A config.json that lacks a key is no mistake, but its number is the family's and not the file's.
void note_family_defaults(const std::string& model, std::vector<std::string>& notes) {
  if (const auto used = defaults_of_model(model); !used.empty()) {
    notes.push_back(
        fmt::format("{}: not in the file, family default used: {}", model, fmt::join(used, ", ")));
  }
}

}  // namespace

OptionWords with_words(OptionWords given, const OptionWords& changed) {
  for (const OptionWord& option : changed) {
    std::erase_if(given, [&](const OptionWord& word) { return word.first == option.first; });
    given.push_back(option);
  }
  return given;
}

PlannedRun read_run(const OptionWords& given, std::vector<std::string>& problems) {
  std::vector<std::string> wrong;
  PlannedRun run{read_plan_words(given, wrong), find_word(given, "gpu") != nullptr};
  if (wrong.empty()) {
    note_family_defaults(*find_word(given, "model"), run.notes);
  }
  std::ranges::transform(wrong, std::back_inserter(problems), printable);
  return run;
}

PlannedRun checked_run(const OptionWords& given, std::vector<std::string> problems, PlanUse use) {
  PlannedRun run = read_run(given, problems);
  std::ranges::move(rule_problems(run.plan, use), std::back_inserter(problems));
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  return run;
}

}  // namespace highwater
