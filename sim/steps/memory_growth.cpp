#include "sim/steps/memory_growth.hpp"

#include <algorithm>
#include <utility>

#include "sim/steps/growth_tracker.hpp"

namespace highwater {
namespace {

constexpr std::size_t kFewestForLeak = 3;
constexpr std::size_t kFewestForPeaks = 5;
constexpr double kMaterial = 0.05;

/// Complete steps; without the first where it is known that the run begins with it.
std::vector<std::size_t> examined_steps(const std::vector<StepUsage>& steps, StepSource source) {
  const bool has_start_up = source == StepSource::markers || source == StepSource::boundaries;
  std::vector<std::size_t> examined;
  for (std::size_t i = has_start_up ? 1 : 0; i < steps.size(); ++i) {
    if (steps[i].span.complete) {
      examined.push_back(i);
    }
  }
  return examined;
}

/// The value at the last position of the line through `values` with the robust slope.
double line_end(const std::vector<Bytes>& values, const Growth& growth) {
  const double last = static_cast<double>(values.size()) - 1;
  std::vector<double> ends;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ends.push_back(static_cast<double>(values[i].count()) +
                   growth.per_step * (last - static_cast<double>(i)));
  }
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  return *middle;
}

/// One figure of the examined steps.
template <class Figure>
std::vector<Bytes> series(const MemoryGrowth& growth, Figure figure) {
  std::vector<Bytes> values;
  for (const std::size_t i : growth.examined) {
    values.push_back(figure(growth.steps[i]));
  }
  return values;
}

Bytes peak_reserved(const StepUsage& step) {
  return step.peak.reserved;
}

Bytes peak_allocated(const StepUsage& step) {
  return step.peak.allocated;
}

Bytes end_allocated(const StepUsage& step) {
  return step.end.allocated;
}

/// Grows, and over all these steps by a share of the last value that matters.
bool is_material(const Growth& growth, const std::vector<Bytes>& values) {
  const double steps = static_cast<double>(values.size()) - 1;
  return growth.grows() &&
         growth.per_step * steps >= kMaterial * static_cast<double>(values.back().count());
}

GrowthVerdict judge(const MemoryGrowth& growth) {
  if (growth.examined.size() < kFewestForLeak) {
    return GrowthVerdict::too_few_steps;
  }
  if (growth.end.grows() && !growth.leaks.empty()) {  // a chance trend leaves no blocks behind
    return GrowthVerdict::leak;
  }
  if (growth.examined.size() < kFewestForPeaks) {
    return GrowthVerdict::none;
  }
  if (is_material(growth.peak, series(growth, peak_allocated))) {
    return GrowthVerdict::larger_steps;
  }
  return is_material(growth.reserved, series(growth, peak_reserved)) && growth.unexplained.grows()
             ? GrowthVerdict::fragmentation
             : GrowthVerdict::none;
}

}  // namespace

std::string_view to_string(GrowthVerdict verdict) {
  switch (verdict) {
    case GrowthVerdict::none:
      return "none";
    case GrowthVerdict::leak:
      return "leak";
    case GrowthVerdict::larger_steps:
      return "larger steps";
    case GrowthVerdict::fragmentation:
      return "fragmentation";
    case GrowthVerdict::too_few_steps:
      break;
  }
  return "too few steps";
}

std::optional<Forecast> MemoryGrowth::forecast(Bytes limit) const {
  const bool has_trend = verdict != GrowthVerdict::none && verdict != GrowthVerdict::too_few_steps;
  const bool by_reserved = reserved.grows();
  if (!has_trend || (!by_reserved && !peak.grows())) {
    return std::nullopt;
  }
  const Growth& growth = by_reserved ? reserved : peak;
  const std::vector<Bytes> values =
      by_reserved ? series(*this, peak_reserved) : series(*this, peak_allocated);
  const double room = std::max(0.0, static_cast<double>(limit.count()) - line_end(values, growth));
  return Forecast{limit, room / growth.per_step, room / growth.high, room / growth.low};
}

MemoryGrowth growth_seen(const RequestTrace& trace, const Steps& steps, GrowthTracker& tracker) {
  MemoryGrowth growth;
  growth.steps = tracker.take_steps();
  growth.examined = examined_steps(growth.steps, steps.source);
  growth.reserved = robust_growth(series(growth, peak_reserved));
  growth.peak = robust_growth(series(growth, peak_allocated));
  growth.end = robust_growth(series(growth, end_allocated));
  std::vector<Bytes> unexplained;
  for (const std::size_t i : growth.examined) {
    unexplained.push_back(tracker.unexplained()[i]);
  }
  growth.unexplained = robust_growth(unexplained);
  std::vector<StepSpan> spans;
  for (const std::size_t i : growth.examined) {
    spans.push_back(growth.steps[i].span);
  }
  growth.leaks = find_leaks(trace, spans);
  growth.verdict = judge(growth);
  growth.pending = tracker.pending();
  for (const PendingFree& free : growth.pending) {
    growth.pending_bytes += free.size;
  }
  return growth;
}

}  // namespace highwater
