#include "tools/studies/plan_search/strategy_search.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "sim/replay/parallel.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/training/step_time.hpp"

namespace highwater {
namespace {

/// How much of a device the allocator gets in a job of the plan's size.
Bytes allocator_share(const TrainingPlan& plan, Bytes device) {
  const Bytes outside = outside_memory(plan).total();
  return device - std::min(device, outside);
}

StrategyResult search(const Candidate& candidate, MemoryRequest memory, Bytes device) {
  StrategyResult result{.candidate = candidate};
  TrainingPlan& plan = result.candidate.plan;
  result.capacity = allocator_share(plan, device);
  memory.capacity = result.capacity;
  result.batches = find_largest_batch_quickly({.plan = plan}, memory);
  plan.batch = result.batches.largest.value_or(1);
  const auto trial = std::ranges::find(result.batches.trials, plan.batch, &BatchTrial::batch);
  result.peak = trial->peak_reserved;
  if (result.fits()) {
    result.sequences_per_second = sequences_per_second(plan);
    result.llmem_score = plan.batch * plan.parallel.dp;
  }
  return result;
}

/// Whether a simulation cannot add anything: what does not fit with full checkpointing does not fit
/// with less; and pipelines, whose many micro-batches take long, need no checkpointing if they can
/// keep everything.
bool is_dominated(const Candidate& candidate, const std::vector<StrategyResult>& known) {
  if (known.empty()) {
    return false;
  }
  const bool is_partial = candidate.plan.checkpoint.kind != CheckpointKind::none;
  return !known.front().fits() ||
         (is_partial && candidate.plan.parallel.pp > 1 && known.back().fits());
}

struct GroupResults {
  std::vector<StrategyResult> results;
  std::vector<std::string> failures;  ///< of PyTorch's own code
};

GroupResults search_group(const std::vector<Candidate>& group, const MemoryRequest& memory,
                          Bytes device) {
  GroupResults found;
  for (const Candidate& candidate : group) {
    if (is_dominated(candidate, found.results)) {
      continue;
    }
    try {
      found.results.push_back(search(candidate, memory, device));
    } catch (const InputError& error) {
      found.failures.push_back(std::string(candidate.strategy) + ": " + error.what());
    }
  }
  return found;
}

/// Indices of the groups, those with most micro-batches first: a long one at the end would leave
/// the other cores idle.
std::vector<std::size_t> longest_first(const std::vector<std::vector<Candidate>>& groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&groups](std::size_t i) { return groups[i].front().plan.grad_accum; });
  return order;
}

// Among equal speeds the larger step comes first.
bool is_better(const StrategyResult& a, const StrategyResult& b) {
  if (a.fits() != b.fits()) {
    return a.fits();
  }
  if (!a.fits()) {
    return a.peak < b.peak;
  }
  return std::tuple(a.sequences_per_second, a.llmem_score) >
         std::tuple(b.sequences_per_second, b.llmem_score);
}

/// Of each GPU: parameters alone, in 16 bit and spread over all of them.
Bytes least_of(const TrainingPlan& plan, int gpus) {
  const auto parameters =
      static_cast<std::uint64_t>(parameter_count(plan.model.config).trainable());
  return Bytes{2 * parameters / static_cast<std::uint64_t>(gpus)};
}

}  // namespace

StrategySearch search_strategies(const PlannedRun& base, const MemoryRequest& memory, Bytes device,
                                 int gpus) {
  StrategySearch found;
  if (const Bytes least = least_of(base.plan, gpus); least > device) {
    found.left_out.push_back(fmt::format(
        "any strategy: the parameters alone, in 16 bits and spread over all GPUs, take {} of {}",
        to_iec(least), to_iec(device)));
    return found;
  }
  Candidates candidates = strategy_candidates(base.plan, gpus);
  found.left_out = std::move(candidates.left_out);
  const auto& groups = candidates.runnable;
  const std::vector<std::size_t> order = longest_first(groups);
  std::vector<GroupResults> results(groups.size());
  const ProgressLine progress(groups.size(), "strategies");
  std::mutex progress_lock;
  std::size_t done = 0;
  for_each_index(groups.size(), [&](std::size_t i) {
    const std::size_t group = order[i];
    results[group] = search_group(groups[group], memory, device);
    const std::lock_guard lock(progress_lock);
    progress.show(++done);
  });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    GroupResults& group = results[i];
    found.dominated += groups[i].size() - group.results.size() - group.failures.size();
    std::ranges::move(group.results, std::back_inserter(found.results));
    std::ranges::move(group.failures, std::back_inserter(found.left_out));
  }
  std::ranges::stable_sort(found.results, is_better);
  return found;
}

}  // namespace highwater
