#include "tools/studies/explain_run.hpp"

#include <algorithm>
#include <map>

#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

/// Sums by site label: the same line reached through different callers is one place.
class SiteSums {
 public:
  explicit SiteSums(const Subject& subject) : subject_(&subject) {}

  void add(StackId stack, Bytes bytes, std::uint64_t blocks) {
    SiteBytes& sum = by_site_[subject_->site(stack)];
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
  const Subject* subject_;
  std::map<std::string, SiteBytes> by_site_;
};

std::vector<SiteBytes> holders(const Subject& subject, const std::optional<OomExplanation>& oom) {
  SiteSums sums(subject);
  if (oom) {
    for (const HeldBlock& block : oom->state.held) {
      sums.add(block.stack, block.size, 1);
    }
  } else {
    for (const SiteShare& share : profile_peak(*subject.trace).sites) {
      sums.add(share.stack, share.bytes, share.blocks);
    }
  }
  return sums.sorted();
}

std::vector<SiteBytes> pinned_sites(const Subject& subject, const Blame& blame) {
  SiteSums sums(subject);
  for (const BlameShare& share : blame.stacks) {
    sums.add(share.stack, share.pinned, share.pinning_blocks);
  }
  return sums.sorted();
}

/// The request that failed in the recording is the one that fails in the replay of its requests.
std::optional<bool> reproduced(const Subject& subject, const std::optional<OomExplanation>& oom) {
  if (!subject.limit) {
    return std::nullopt;
  }
  const auto& recorded = subject.replay.result.ooms;
  return oom && !recorded.empty() &&
         oom->state.account.requested == recorded.front().account.requested &&
         oom->state.account.allocated == recorded.front().account.allocated;
}

std::optional<Bytes> known_limit(const Subject& subject) {
  if (subject.options.memory_limit && subject.options.capacity) {
    return std::min(*subject.options.memory_limit, *subject.options.capacity);
  }
  return subject.options.memory_limit ? subject.options.memory_limit : subject.options.capacity;
}

DeviceKnowledge knowledge_of_recording(const Subject& subject) {
  DeviceKnowledge device;
  if (subject.gpu != nullptr) {
    device.total = subject.gpu->total_memory;
  }
  device.is_fraction = subject.options.memory_limit.has_value();
  if (device.total && subject.options.capacity) {
    device.outside = *device.total - std::min(*device.total, *subject.options.capacity);
  }
  return device;
}

}  // namespace

DeviceKnowledge device_knowledge(const Subject& subject) {
  if (!subject.simulation) {
    return knowledge_of_recording(subject);
  }
  DeviceKnowledge device;
  device.total = subject.replay.capacity;
  device.outside = subject.simulation->is_gpu_named ? subject.simulation->outside.total() : Bytes{};
  device.is_fraction = subject.options.memory_limit.has_value();
  return device;
}

Explanation explain(Subject subject) {
  Explanation result;
  const RequestTrace& trace = *subject.trace;
  const ProgressLine progress(4, "analyses");
  progress.show(0);
  result.oom = explain_out_of_memory(trace, subject.options, device_knowledge(subject));
  progress.show(1);
  result.is_reproduced = reproduced(subject, result.oom);
  result.holders = holders(subject, result.oom);
  result.blame = blame_fragmentation(
      trace, subject.options, result.oom ? std::optional(result.oom->state.event) : std::nullopt);
  result.pinned = pinned_sites(subject, result.blame);
  progress.show(2);
  result.bars = four_bars(trace, subject.options);
  progress.show(3);
  result.steps = steps_of(subject);
  result.drift = measure_drift(trace, result.steps, subject.options);
  result.limit = known_limit(subject);
  result.subject = std::move(subject);
  return result;
}

}  // namespace highwater
