#include "workloads/plan/options/plan_summary.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// Always told, whatever their value: they decide most of the bytes.
bool is_always_told(std::string_view option) {
  constexpr std::array<std::string_view, 9> kAlways{"framework",  "batch",     "seq",
                                                    "precision",  "attention", "optimizer",
                                                    "checkpoint", "torch",     "transformers"};
  return std::ranges::find(kAlways, option) != kAlways.end();
}

/// A value that is JSON itself is too long for a line of options.
std::string_view told(std::string_view text) {
  return text.starts_with('{') ? "{...}" : text;
}

}  // namespace

std::string plan_summary(const TrainingPlan& plan) {
  TrainingPlan plain;
  apply_framework(plan.framework, plain);
  plain.model = plan.model;
  plain.model.labels = 0;
  plain.model.width.reset();
  plain.gpu = plan.gpu;
  std::string summary(plan.model.name);
  for (const Option& option : option_table()) {
    const std::string text = option.text(plan);
    if (!text.empty() && (is_always_told(option.name) || text != option.text(plain))) {
      summary += fmt::format(", {} {}", option.name, told(text));
    }
  }
  return summary;
}

}  // namespace highwater
