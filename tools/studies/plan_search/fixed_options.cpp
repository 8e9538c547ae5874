#include "tools/studies/plan_search/fixed_options.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "traces/parse_text.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::array<std::string_view, 11> kSearched{"dp",      "dp-kind",   "dp-replicate", "tp",
                                                     "pp",      "pp-chunks", "cp",           "ep",
                                                     "offload", "batch",     "checkpoint"};

/// Sizes whose product divides the job.
constexpr std::array<std::string_view, 4> kSizes{"dp", "tp", "pp", "cp"};

bool is_searched(std::string_view name) {
  return std::ranges::find(kSearched, name) != kSearched.end();
}

/// A pipeline without chunks has one, whatever the plan keeps for one with chunks.
std::string text_in(std::string_view name, const TrainingPlan& plan) {
  return name == "pp-chunks" ? std::to_string(model_chunks(plan.parallel))
                             : option_called(name).text(plan);
}

/// "8" of "08"; absent where it is wrong, which is appended to `problems`.
std::optional<std::string> normal_text(const Option& option, const std::string& text,
                                       std::vector<std::string>& problems) {
  TrainingPlan plan;
  if (const Complaint complaint = option.set(plan, text)) {
    problems.push_back(fmt::format("--{} {}: {}", option.name, text, *complaint));
    return std::nullopt;
  }
  return option.text(plan);
}

}  // namespace

bool is_of_division(const Option& option) {
  return is_searched(option.name) || option.group == OptionGroup::data_parallel ||
         option.group == OptionGroup::model_parallel;
}

FixedOptions fixed_options(const OptionWords& given, std::vector<std::string>& problems) {
  FixedOptions fixed;
  std::vector<std::string> of_the_job;  // who reads the job's plan reports it
  for (const auto& [name, text] : given) {
    const Option& option = option_called(name);
    if (!is_of_division(option)) {
      continue;
    }
    if (auto normal = normal_text(option, text, name == "checkpoint" ? of_the_job : problems)) {
      (is_searched(name) ? fixed.chosen : fixed.settings).emplace_back(name, *std::move(normal));
    }
  }
  return fixed;
}

std::optional<int> fixed_size(const FixedOptions& fixed, std::string_view axis) {
  const std::string* const text = find_word(fixed.chosen, axis);
  return text == nullptr ? std::nullopt : parse_number<int>(*text);
}

std::optional<std::string> why_not_divided(const FixedOptions& fixed, int gpus) {
  std::int64_t product = 1;
  std::string words;
  for (const std::string_view axis : kSizes) {
    const auto size = fixed_size(fixed, axis);
    if (size && product <= gpus) {
      product *= *size;
      words += fmt::format("{}--{} {}", words.empty() ? "" : " ", axis, *size);
    }
  }
  return gpus % product == 0
             ? std::nullopt
             : std::optional(fmt::format("{}: {} GPUs cannot be divided into groups of {}; use a "
                                         "divisor",
                                         words, gpus, product));
}

bool keeps_fixed(const FixedOptions& fixed, const TrainingPlan& plan) {
  return std::ranges::all_of(fixed.chosen, [&](const OptionWord& word) {
    return text_in(word.first, plan) == word.second;
  });
}

void apply_settings(const FixedOptions& fixed, TrainingPlan& plan) {
  for (const auto& [name, text] : fixed.settings) {
    TrainingPlan changed = plan;
    const bool is_wrong = option_called(name).set(changed, text).has_value();
    if (!is_wrong && plan_problems(changed).size() <= plan_problems(plan).size()) {
      plan = std::move(changed);
    }
  }
}

}  // namespace highwater
