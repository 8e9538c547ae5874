#include "tools/studies/planned_run.hpp"

#include <algorithm>
#include <iterator>

#include "tools/text/safe_text.hpp"
#include "tools/text/usage_errors.hpp"

namespace highwater {

PlannedRun read_run(const OptionWords& given, std::vector<std::string>& problems) {
  std::vector<std::string> wrong;
  PlannedRun run{read_plan_words(given, wrong), find_word(given, "gpu") != nullptr};
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
