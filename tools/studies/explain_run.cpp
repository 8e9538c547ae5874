#include "tools/studies/explain_run.hpp"

#include <algorithm>
#include <map>

#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

/// Sums by site label: the same line reached through different callers is one place.
class SiteSums {
 public:
  explicit SiteSums(const Workload& workload) : workload_(&workload) {}

  void add(StackId stack, Bytes bytes, std::uint64_t blocks) {
    SiteBytes& sum = by_site_[workload_->site(stack)];
    sum.bytes += bytes;
    sum.blocks += blocks;
  }

  /// Largest first, nothing of 0 bytes.
  [[nodiscard]] std::vector<SiteBytes> sorted() const {
    std::vector<SiteBytes> sites;
    for (const auto& [site, sum] : by_site_) {
      if (sum.bytes > Bytes{0}) {
        sites.push_back({site, sum.bytes, sum.blocks});
      }
    }
    std::ranges::stable_sort(sites, std::ranges::greater{}, &SiteBytes::bytes);
    return sites;
  }

 private:
  const Workload* workload_;
  std::map<std::string, SiteBytes> by_site_;
};

std::vector<SiteBytes> holders(const Workload& workload, const std::optional<OomExplanation>& oom) {
  SiteSums sums(workload);
  if (oom) {
    for (const HeldBlock& block : oom->state.held) {
      sums.add(block.stack, block.size, 1);
    }
  } else {
    for (const SiteShare& share : profile_peak(*workload.trace).sites) {
      sums.add(share.stack, share.bytes, share.blocks);
    }
  }
  return sums.sorted();
}

std::vector<SiteBytes> pinned_sites(const Workload& workload, const FragmentationBlame& blame) {
  SiteSums sums(workload);
  for (const BlameShare& share : blame.stacks) {
    sums.add(share.stack, share.pinned, share.pinning_blocks);
  }
  return sums.sorted();
}

/// The request that failed in the recording is the one that fails in the replay of its requests.
std::optional<bool> reproduced(const Workload& workload, const std::optional<OomExplanation>& oom) {
  if (!workload.limit) {
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
  Explanation result;
  const RequestTrace& trace = *workload.trace;
  const ProgressLine progress(4, "analyses");
  progress.show(0);
  result.oom = explain_out_of_memory(trace, workload.options, device_knowledge(workload));
  progress.show(1);
  result.is_reproduced = reproduced(workload, result.oom);
  result.holders = holders(workload, result.oom);
  result.blame = blame_fragmentation(
      trace, workload.options, result.oom ? std::optional(result.oom->state.event) : std::nullopt);
  result.pinned = pinned_sites(workload, result.blame);
  progress.show(2);
  result.bars = four_bars(trace, workload.options);
  progress.show(3);
  result.steps = steps_of(workload);
  result.growth = measure_memory_growth(trace, result.steps, workload.options);
  result.limit = known_limit(workload);
  result.workload = std::move(workload);
  return result;
}

}  // namespace highwater
