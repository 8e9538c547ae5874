#include "tools/strategy_search.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "sim/parallel.hpp"
#include "tools/progress_line.hpp"
#include "workloads/models/parameter_count.hpp"
#include "workloads/step_time.hpp"

namespace highwater {
namespace {

/// What the allocator gets of a device in a job of the plan's size.
Bytes allocator_share(const TrainingPlan& plan, Bytes device) {
  const Bytes outside = outside_memory(plan.gpu, plan.versions.torch, plan.parallel).total();
  return device - std::min(device, outside);
}

StrategyResult search(const Candidate& candidate, MemoryRequest memory, Bytes device) {
  StrategyResult result{.candidate = candidate};
  TrainingPlan& plan = result.candidate.plan;
  memory.capacity = allocator_share(plan, device);
  result.batches = find_largest_batch({.plan = plan}, memory);
  plan.batch = result.batches.largest.value_or(1);
  const auto trial = std::ranges::find(result.batches.trials, plan.batch, &BatchTrial::batch);
  result.peak = trial->peak_reserved;
  if (result.fits()) {
    result.sequences_per_second = sequences_per_second(plan);
    result.llmem_score = plan.batch * plan.parallel.dp;
  }
  return result;
}

// Where speeds are equal the larger step comes first.
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
        "any strategy: the parameters alone, in 16 bit and spread over all GPUs, take {} of {}",
        to_iec(least), to_iec(device)));
    return found;
  }
  Candidates candidates = strategy_candidates(base.plan, gpus);
  found.left_out = std::move(candidates.left_out);
  found.results.resize(candidates.runnable.size());
  const ProgressLine progress(candidates.runnable.size(), "strategies");
  std::mutex progress_lock;
  std::size_t done = 0;
  for_each_index(candidates.runnable.size(), [&](std::size_t i) {
    found.results[i] = search(candidates.runnable[i], memory, device);
    const std::lock_guard lock(progress_lock);
    progress.show(++done);
  });
  std::ranges::stable_sort(found.results, is_better);
  return found;
}

}  // namespace highwater
