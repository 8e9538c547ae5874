// What --from does with a plan that it has read, for the targets of the formats that carry one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/error.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/plan_source.hpp"
#include "workloads/sources/programs/program.hpp"

namespace highwater::fuzz {

/// Plans name models by files, too: those are left to config_fuzz.
inline bool is_read_here(const OptionWords& words) {
  const std::string* const model = find_word(words, "model");
  return model == nullptr || model->find('/') == std::string::npos;
}

/// Every key has a fate, and every word of the plan is an option's or is refused in words.
inline void check_source(const PlanSource& source) {
  OptionWords words;
  for (const auto& [name, value] : combined_words(std::span(&source, 1), {})) {
    if (find_option(name) != nullptr) {
      words.emplace_back(name, value);
    }
  }
  if (!is_read_here(words)) {
    return;
  }
  std::vector<std::string> problems;
  const TrainingPlan plan = read_plan_words(words, problems);
  if (problems.empty()) {
    (void)rule_problems(plan);
  }
}

/// `settings()` gives the keys of a configuration file.
template <class Settings>
void check_settings(const Settings& settings) {
  try {
    check_source(plan_of_settings(settings(), "fuzz"));
  } catch (const InputError&) {
  } catch (const UsageError&) {
  }
}

}  // namespace highwater::fuzz
