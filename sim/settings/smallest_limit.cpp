#include "sim/settings/smallest_limit.hpp"

#include <algorithm>

namespace highwater {
namespace {

ReplayResult under(const RequestTrace& trace, ReplayOptions options, std::optional<Bytes> limit) {
  options = with_memory(std::move(options), limit);
  options.after_oom = AfterOom::stop;
  options.observer = nullptr;
  options.decisions = DecisionDetail::none;
  return replay(trace, options);
}

}  // namespace

ReplayOptions with_memory(ReplayOptions options, std::optional<Bytes> memory) {
  const bool is_device = !options.memory_limit && !options.fraction;
  options.capacity = is_device ? memory : std::nullopt;
  options.memory_limit = is_device ? std::nullopt : memory;
  options.fraction.reset();
  options.limits = MemoryLimits::of_the_caller;
  return options;
}

std::optional<Bytes> smallest_limit(const RequestTrace& trace, const ReplayOptions& options,
                                    Bytes refused, Bytes step) {
  const ReplayResult unlimited = under(trace, options, std::nullopt);
  if (unlimited.counts.ooms != 0) {
    return std::nullopt;
  }
  Bytes low = refused;
  Bytes high = unlimited.peak.reserved;
  // A limit of exactly the peak may still fail: PyTorch checks a whole segment against it.
  while (high <= low || under(trace, options, high).counts.ooms != 0) {
    high = std::max(high, low) + Bytes{std::max<std::uint64_t>(step.count(), high.count() / 64)};
  }
  while (high - low > step) {
    const Bytes middle = low + Bytes{(high - low).count() / 2};
    (under(trace, options, middle).counts.ooms == 0 ? high : low) = middle;
  }
  return high;
}

}  // namespace highwater
