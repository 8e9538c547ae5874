#include "tools/studies/sweep/sweep_bounds.hpp"

#include <algorithm>

namespace highwater {
namespace {

/// Far below the end of even an unlimited device.
constexpr Bytes kMostKnown{std::uint64_t{1} << 48U};

std::optional<Bytes> limit_of(const ReplayOptions& options) {
  if (options.capacity && options.memory_limit) {
    return std::min(*options.capacity, *options.memory_limit);
  }
  return options.capacity ? options.capacity : options.memory_limit;
}

bool is_unlimited(const ReplayOptions& options) {
  return !limit_of(options) && !options.fraction && !options.settings.per_process_memory_fraction &&
         options.beside == nullptr;
}

}  // namespace

PointBound bound_of(const SweepPoint& point, std::optional<Bytes> least) {
  if (!least || *least > kMostKnown) {
    return {};
  }
  const std::optional<Bytes> limit = limit_of(point.options);
  if (limit && *least > *limit) {
    return {.outcome = KnownOutcome::out_of_memory, .least = *least, .batch = {}};
  }
  return {.outcome = is_unlimited(point.options) ? KnownOutcome::fits : KnownOutcome::unknown,
          .least = *least,
          .batch = {}};
}

SweepBar::SweepBar(std::vector<SweepRun> runs, std::size_t top) : runs_(std::move(runs)) {
  std::ranges::sort(runs_, {}, &SweepRun::point);
  std::vector<const SweepRun*> best;
  for (const SweepRun& run : runs_) {
    if (run.fits()) {
      best.push_back(&run);
    }
  }
  if (best.empty() || best.size() < top) {
    return;
  }
  std::ranges::sort(best, [](const auto* a, const auto* b) { return is_better(*a, *b); });
  worst_shown_ = best[top - 1]->replay.result.peak.reserved;
  const SweepRun& preferred = **std::ranges::min_element(
      best, [](const auto* a, const auto* b) { return is_preferred(*a, *b); });
  preferred_batch_ = preferred.batch();
  preferred_reserved_ = preferred.replay.result.peak.reserved;
}

bool SweepBar::has(std::uint64_t point) const {
  return std::ranges::binary_search(runs_, point, {}, &SweepRun::point);
}

/// What runs out comes after all that fits; of what fits, the larger batch is preferred.
bool SweepBar::rules_out(const PointBound& bound) const {
  if (!worst_shown_ || bound.outcome == KnownOutcome::unknown) {
    return false;
  }
  if (bound.outcome == KnownOutcome::out_of_memory) {
    return true;
  }
  const bool is_preferred = bound.batch == preferred_batch_ ? bound.least <= preferred_reserved_
                                                            : bound.batch > preferred_batch_;
  return bound.least > *worst_shown_ && !is_preferred;
}

}  // namespace highwater
