#include "tools/reports/plan_line.hpp"

#include "tools/text/safe_text.hpp"
#include "tools/text/shell_word.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/implied_defaults.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// The plan of a line that names only the model and the framework.
TrainingPlan start_of(const TrainingPlan& plan) {
  TrainingPlan start;
  start.model = plan.model;
  start.model.width.reset();
  start.model.labels = 0;
  apply_framework(plan.framework, start);
  apply_implied_defaults({}, start);
  return start;
}

/// Another option of the plan would change this one if it were left out.
bool is_implied_otherwise(const Option& option, const std::string& text, const TrainingPlan& plan) {
  for (const ImpliedDefault& row : implied_defaults()) {
    if (row.option == option.name && row.word != text && row.applies(plan)) {
      return true;
    }
  }
  return false;
}

/// The model, the framework, and what these two do not imply. The GPU is not the plan's to name.
OptionWords shortest(const TrainingPlan& plan, const LineOptions& options) {
  const TrainingPlan start = start_of(plan);
  OptionWords line{{"model", options.model}};
  if (plan.framework != default_framework(plan.model_code)) {
    line.emplace_back("framework", option_called("framework").text(plan));
  }
  for (const Option& option : option_table()) {
    const std::string text = option.text(plan);
    const bool is_said = text != option.text(start) || is_implied_otherwise(option, text, plan);
    if (is_said && option.name != "gpu") {
      line.emplace_back(option.name, text);
    }
  }
  return line;
}

}  // namespace

std::string simulate_line(const TrainingPlan& plan, const LineOptions& options) {
  OptionWords line = shortest(plan, options);
  if (options.is_gpu_named) {
    line.emplace_back("gpu", plan.gpu.name);
  }
  if (options.capacity) {
    line.emplace_back("capacity", std::to_string(options.capacity->count()));
  }
  if (options.memory_limit) {
    line.emplace_back("memory-limit", std::to_string(options.memory_limit->count()));
  }
  if (options.alloc_conf) {
    line.emplace_back("alloc-conf", *options.alloc_conf);
  }
  std::string text = "highwater simulate";
  for (const auto& [option, value] : line) {
    text += " --" + option;
    text += value == "true" ? "" : value == "false" ? "=false" : " " + shell_word(printable(value));
  }
  return text;
}

}  // namespace highwater
