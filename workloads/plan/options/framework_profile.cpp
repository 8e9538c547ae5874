#include "workloads/plan/options/framework_profile.hpp"

#include <algorithm>
#include <vector>

#include "workloads/facts/facts.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/words.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

Framework framework_called(const JsonField& word) {
  const auto* const found = std::ranges::find(kFrameworks, word.view(), &Word<Framework>::word);
  if (found == kFrameworks.end()) {
    word.fail("no --framework is called that");
  }
  return found->value;
}

/// Absent: whatever the release of `package`.
std::optional<Release> first_release(const JsonField& row, std::string_view package) {
  const auto since = row.find("since");
  const auto release = since ? since->find(package) : std::nullopt;
  return release ? std::optional(release_of(release->view())) : std::nullopt;
}

void add_group(const JsonField& group, std::vector<FrameworkDefault>& defaults) {
  for (const JsonField& framework : group.at("frameworks").elements()) {
    for (const JsonField& row : group.at("defaults").elements()) {
      defaults.push_back({.framework = framework_called(framework),
                          .option = row.at("option").view(),
                          .word = row.at("word").view(),
                          .source = row.at("source").view(),
                          .since_torch = first_release(row, "torch"),
                          .since_transformers = first_release(row, "transformers")});
    }
  }
}

std::vector<FrameworkDefault> read_defaults() {
  std::vector<FrameworkDefault> defaults;
  for (const JsonField& group : facts("frameworks.json").at("groups").elements()) {
    add_group(group, defaults);
  }
  return defaults;
}

/// What the plan has of its framework goes back to what a bare loop has.
void leave_framework(TrainingPlan& plan) {
  const TrainingPlan bare;
  for (const FrameworkDefault& row : framework_defaults()) {
    const Option& option = option_called(row.option);
    if (row.framework == plan.framework && option.text(plan) == row.word) {
      static_cast<void>(option.set(plan, option.text(bare)));
    }
  }
}

}  // namespace

std::span<const FrameworkDefault> framework_defaults() {
  static const std::vector<FrameworkDefault> kDefaults = read_defaults();
  return kDefaults;
}

void apply_framework(Framework framework, TrainingPlan& plan) {
  leave_framework(plan);
  plan.framework = framework;
  for (const FrameworkDefault& row : framework_defaults()) {
    if (row.framework == framework) {
      static_cast<void>(option_called(row.option).set(plan, row.word));  // tested: none complains
    }
  }
}

bool is_default_later(const TrainingPlan& plan, std::string_view option) {
  const Release torch = release_of(plan.versions.torch);
  const Release transformers = release_of(plan.versions.transformers);
  return std::ranges::any_of(framework_defaults(), [&](const FrameworkDefault& row) {
    const bool is_later = (row.since_torch && torch < *row.since_torch) ||
                          (row.since_transformers && transformers < *row.since_transformers);
    return is_later && row.framework == plan.framework && row.option == option;
  });
}

Framework default_framework(ModelCode code) {
  return code == ModelCode::hf ? Framework::hf : Framework::torch;
}

const TrainingPlan& default_plan() {
  static const TrainingPlan kPlan = [] {
    TrainingPlan plan;
    apply_framework(default_framework(plan.model_code), plan);
    return plan;
  }();
  return kPlan;
}

CheckpointKind selective_kind(Framework framework) {
  const bool is_megatron = framework == Framework::megatron || framework == Framework::nemo;
  return is_megatron ? CheckpointKind::selective_attention : CheckpointKind::selective_op;
}

}  // namespace highwater
