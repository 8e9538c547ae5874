#include "tools/studies/plan_search/memory_trial.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>

#include "allocator/settings/settings_change.hpp"
#include "sim/replay/compact_replay.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/ranks.hpp"

namespace highwater {
namespace {

constexpr int kSteps = 2;

/// Without a pipeline: the first fills gradients, the second adds to them, the third repeats it.
constexpr int kMicroBatches = 3;

int micro_batches_of(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (plan.seq.size() > 1) {
    return plan.grad_accum;
  }
  const bool interleaves = model_chunks(p) > 1;
  const int enough = p.pp == 1 ? kMicroBatches : interleaves ? 2 * p.pp : p.pp + kMicroBatches;
  return std::min(plan.grad_accum, enough);
}

TrainingPlan shortened(TrainingPlan plan) {
  plan.grad_accum = micro_batches_of(plan);
  plan.steps = plan.seq.size() > 1 ? plan.steps : std::min(plan.steps, kSteps);
  return plan;
}

/// The largest shard of the stages that hold most: the first, the second and the last.
std::vector<RankClass> ranks_that_hold_most(const TrainingPlan& plan) {
  const int last = plan.parallel.pp - 1;
  std::vector<RankClass> chosen;
  for (const RankClass& each : representative_ranks(coarse_rank_classes(plan))) {
    const int stage = each.place.pp;
    if (stage > 1 && stage < last) {
      continue;
    }
    if (chosen.empty() || chosen.back().place.pp != stage) {
      chosen.push_back(each);
    } else if (each.share > chosen.back().share) {
      chosen.back() = each;
    }
  }
  return chosen;
}

ReplayOptions options_of(const TrainingPlan& plan, const MemoryRequest& memory) {
  ReplayOptions options;
  options.version = &nearest_preset(plan.versions.torch);
  if (memory.alloc_conf) {
    options.settings = settings_from_command_line(*memory.alloc_conf, *options.version);
  }
  options.capacity = memory.capacity;
  options.memory_limit = memory.memory_limit;
  options.after_oom = AfterOom::stop;
  return options;
}

MemoryTrial try_rank(TrainingPlan plan, int rank, const ReplayOptions& options, Bytes limit,
                     ShownShapes& shown) {
  plan.parallel.rank = rank;
  plan.device_room = options.capacity ? options.capacity : plan.device_room;
  const Bytes most = std::min(limit, options.capacity.value_or(limit));
  const std::optional<CompactTrace> requests = compact_requests(plan, most, shown);
  if (!requests) {
    return {.fits = false, .peak = most};
  }
  const ReplayBar bar = replay_compact(*requests, options);
  return {!bar.ran_out && bar.reserved <= limit, bar.reserved};
}

/// The first that does not fit tells.
MemoryTrial try_ranks(const TrainingPlan& plan, const std::vector<RankClass>& ranks,
                      const MemoryRequest& memory, Bytes limit) {
  const ReplayOptions options = options_of(plan, memory);
  ShownShapes shown;
  MemoryTrial worst{.fits = true, .peak = Bytes{}};
  for (const RankClass& each : ranks) {
    const MemoryTrial trial = try_rank(plan, each.rank, options, limit, shown);
    worst.peak = std::max(worst.peak, trial.peak);
    if (!trial.fits) {
      return {false, worst.peak};
    }
  }
  return worst;
}

}  // namespace

Bytes without_margin(Bytes memory, double margin) {
  return Bytes{static_cast<std::uint64_t>(static_cast<double>(memory.count()) * (1 - margin))};
}

MemoryTrial try_part(const TrainingPlan& plan, const MemoryRequest& memory, Bytes limit) {
  const TrainingPlan part = shortened(plan);
  return try_ranks(part, ranks_that_hold_most(part), memory, limit);
}

MemoryTrial try_whole(const TrainingPlan& plan, const MemoryRequest& memory, Bytes limit) {
  return try_ranks(plan, representative_ranks(coarse_rank_classes(plan)), memory, limit);
}

std::vector<int> ranks_of_whole(const TrainingPlan& plan) {
  std::map<int, int> of_stage;
  std::multimap<int, int> by_turn;
  for (const RankClass& each : representative_ranks(coarse_rank_classes(plan))) {
    by_turn.emplace(of_stage[each.place.pp]++, each.rank);
  }
  std::vector<int> ranks;
  std::ranges::copy(by_turn | std::views::values, std::back_inserter(ranks));
  return ranks;
}

MemoryTrial try_rank(const TrainingPlan& plan, int rank, const MemoryRequest& memory, Bytes limit,
                     ShownShapes& shown) {
  return try_rank(plan, rank, options_of(plan, memory), limit, shown);
}

MemoryTrial all_ranks(const std::vector<MemoryTrial>& trials) {
  return {std::ranges::all_of(trials, &MemoryTrial::fits),
          std::ranges::max(trials, {}, &MemoryTrial::peak).peak};
}

}  // namespace highwater
