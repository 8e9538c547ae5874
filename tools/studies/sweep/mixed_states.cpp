#include "tools/studies/sweep/mixed_states.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

bool is_of_deepspeed(std::string_view kind) {
  return kind.starts_with("zero");
}

const SweepAxis* axis_of(const std::vector<SweepAxis>& axes, std::string_view key) {
  const auto found = std::ranges::find(axes, key, &SweepAxis::key);
  return found == axes.end() ? nullptr : &*found;
}

/// Without autocast, which keeps fp32 parameters, and adapters, which are in fp32 anyway.
bool is_all_in_half(const TrainingPlan& plan) {
  return model_dtype(plan.precision) != DType::fp32 && !trains_adapters(plan) &&
         !plan.optimizer.master_weights;
}

}  // namespace

std::optional<std::string> mixed_states_note(const TrainingPlan& plan,
                                             const std::vector<SweepAxis>& axes) {
  const SweepAxis* kinds = axis_of(axes, "dp-kind");
  if (kinds == nullptr || !is_all_in_half(plan) || axis_of(axes, "precision") != nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> wide = kinds->values;
  const auto narrow = std::ranges::stable_partition(wide, is_of_deepspeed);
  const std::vector<std::string> others(narrow.begin(), narrow.end());
  wide.erase(narrow.begin(), narrow.end());
  if (wide.empty() || others.empty()) {
    return std::nullopt;
  }
  const std::string precision = option_called("precision").text(plan);
  return fmt::format(
      "--set dp-kind with --precision {0}: rows do not have the same states: all in {0} with {1}, "
      "fp32 copies of the parameters and fp32 moments with {2} (DeepSpeed); for fp32 states with "
      "{1}, "
      "too, give --precision amp-{0}",
      precision, fmt::join(others, ", "), fmt::join(wide, ", "));
}

}  // namespace highwater
