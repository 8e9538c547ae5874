#include "tools/studies/solving/checkpoint_policies.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/step_time.hpp"

namespace highwater {
namespace {

constexpr std::string_view kNone = "none";

/// The largest n for each number of blocks between none and all.
std::vector<std::int64_t> intervals(std::int64_t blocks) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = blocks; n > 1; --n) {
    if (all.empty() || blocks / n != blocks / all.back()) {
      all.push_back(n);
    }
  }
  return all;
}

std::vector<std::string> policy_words(const TrainingPlan& plan) {
  std::vector<std::string> words{std::string(kNone), "selective-attention", "selective-op", "full"};
  for (const std::int64_t n : intervals(shape_of(plan.model).layers)) {
    words.push_back(fmt::format("every-{}", n));
  }
  return words;
}

bool is_allowed(const SolveState& state) {
  try {
    checked_run(state.words, state.model);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

double step_seconds(const SolveState& state, const std::string& policy) {
  return step_time(plan_of(with_policy(state, policy))).total();
}

}  // namespace

SolveState with_policy(SolveState state, const std::string& policy) {
  if (policy == kNone) {  // which has no implementation
    std::erase_if(state.words,
                  [](const OptionWord& word) { return word.first == "checkpoint-impl"; });
  }
  return with_options(std::move(state), {{"checkpoint", policy}});
}

std::vector<CheckpointPolicy> checkpoint_policies(const SolveState& state) {
  const double without = step_seconds(state, std::string(kNone));
  std::vector<CheckpointPolicy> policies;
  for (const std::string& word : policy_words(plan_of(state))) {
    if (is_allowed(with_policy(state, word))) {
      policies.push_back({word, step_seconds(state, word) / without - 1});
    }
  }
  std::ranges::stable_sort(policies, {}, &CheckpointPolicy::recomputation);
  return policies;
}

}  // namespace highwater
