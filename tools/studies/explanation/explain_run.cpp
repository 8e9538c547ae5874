#include "tools/studies/explanation/explain_run.hpp"

#include <algorithm>

#include "sim/steps/watched_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

/// Nothing of 0 bytes.
std::vector<PlaceHolder> largest_first(const HolderSums<std::string>& sums) {
  std::vector<PlaceHolder> holders = sums.largest_first();
  std::erase_if(holders, [](const PlaceHolder& holder) { return holder.held == Bytes{}; });
  return holders;
}

std::vector<PlaceHolder> holders(const Workload& workload,
                                 const std::optional<OomExplanation>& oom) {
  HolderSums<std::string> sums;
  if (oom) {
    for (const HeldBlock& block : oom->state.held) {
      sums.add(workload.site(block.stack), block.size);
    }
  } else {
    for (const StackHolder& holder : live_at_peak(*workload.trace).holders) {
      sums.add(workload.site(holder.origin), holder.held, holder.blocks);
    }
  }
  return largest_first(sums);
}

std::vector<PlaceHolder> pinned_sites(const Workload& workload, const FragmentationBlame& blame) {
  HolderSums<std::string> sums;
  for (const PinningStack& stack : blame.stacks) {
    sums.add(workload.site(stack.origin), stack.held.bytes, stack.held.pinning_blocks);
  }
  return largest_first(sums);
}

/// The request that failed in the recording is the one that fails in the replay of its requests.
std::optional<bool> reproduced(const Workload& workload, const std::optional<OomExplanation>& oom) {
  if (!workload.ran_out()) {
    return std::nullopt;
  }
  const auto& recorded = workload.replay.result.ooms;
  return oom && !recorded.empty() &&
         oom->state.account.requested == recorded.front().account.requested &&
         oom->state.account.allocated == recorded.front().account.allocated;
}

std::optional<Bytes> known_limit(const Workload& workload) {
  if (workload.options.memory_limit && workload.options.capacity) {
    return std::min(*workload.options.memory_limit, *workload.options.capacity);
  }
  return workload.options.memory_limit ? workload.options.memory_limit : workload.options.capacity;
}

DeviceKnowledge knowledge_of_recording(const Workload& workload) {
  DeviceKnowledge device;
  if (workload.gpu != nullptr) {
    device.total = workload.gpu->total_memory;
  }
  device.is_fraction = workload.options.memory_limit.has_value();
  if (device.total && workload.options.capacity) {
    device.outside = *device.total - std::min(*device.total, *workload.options.capacity);
  }
  return device;
}

constexpr std::size_t kAnalyses = 4;

}  // namespace

DeviceKnowledge device_knowledge(const Workload& workload) {
  if (!workload.simulation) {
    return knowledge_of_recording(workload);
  }
  DeviceKnowledge device;
  device.total = workload.replay.capacity;
  device.outside =
      workload.simulation->is_gpu_named ? workload.simulation->outside.total() : Bytes{};
  device.is_fraction = workload.options.memory_limit.has_value();
  return device;
}

Explanation explain(Workload workload) {
  Steps steps = steps_of(workload);
  return explain(std::move(workload), std::move(steps));
}

Explanation explain(Workload workload, Steps steps) {
  Explanation result;
  if (workload.has_history()) {
    check_itself(workload);
  }
  const RequestTrace& trace = *workload.trace;
  const ProgressLine progress(kAnalyses, "analyses");
  result.steps = std::move(steps);
  const WatchedRun own = watch_run(trace, workload.options, result.steps);
  result.growth = own.growth;
  result.blame = own.blame;
  progress.show(1);
  if (own.bar.ran_out) {
    result.oom = explain_out_of_memory(trace, workload.options, device_knowledge(workload),
                                       workload.older_events);
  }
  result.is_reproduced = reproduced(workload, result.oom);
  progress.show(2);
  look_at_moment(trace, workload.options, result.oom ? result.oom->state.event : own.blame.moment,
                 result.blame);
  result.holders = holders(workload, result.oom);
  result.pinned = pinned_sites(workload, result.blame);
  progress.show(3);
  result.bars = four_bars(trace, workload.options, own.bar);
  result.limit = known_limit(workload);
  result.workload = std::move(workload);
  return result;
}

}  // namespace highwater
