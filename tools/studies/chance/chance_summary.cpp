#include "tools/studies/chance/chance_summary.hpp"

#include <algorithm>
#include <array>

namespace highwater {
namespace {

constexpr std::array kShares{0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
constexpr std::size_t kBins = 20;
constexpr double kPerSteps = 1000;

double as_double(Bytes bytes) {
  return static_cast<double>(bytes.count());
}

template <class Value>
std::vector<Bytes> sorted_values(const Ensemble& ensemble, Value value) {
  std::vector<Bytes> values;
  values.reserve(ensemble.runs.size());
  for (const DrawnRun& run : ensemble.runs) {
    values.push_back(value(run));
  }
  std::ranges::sort(values);
  return values;
}

Bytes value_at(const std::vector<Bytes>& sorted, double share) {
  return sorted[quantile_place(share, sorted.size()).at];
}

Spread95 spread_of_sorted(const std::vector<Bytes>& sorted) {
  Spread95 spread{.lowest = sorted.front(), .highest = sorted.back()};
  std::vector<double> values;
  std::ranges::transform(sorted, std::back_inserter(values), as_double);
  spread.mean = mean_of(values);
  spread.interval = mean_interval(values);
  for (const double share : kShares) {
    const QuantilePlace place = quantile_place(share, sorted.size());
    spread.quantiles.push_back({share, sorted[place.at], sorted[place.low], sorted[place.high]});
  }
  return spread;
}

Chance chance_of(std::size_t hits, std::size_t runs) {
  return {hits, runs == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(runs),
          wilson_interval(hits, runs)};
}

/// Bins begin at multiples of their width, which is a round number of MiB.
void add_histogram(const std::vector<Bytes>& sorted, ChanceSummary& summary) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  const std::uint64_t range = (sorted.back() - sorted.front()).count();
  std::uint64_t width = 2 * kMiB;
  while (range / width >= kBins) {
    width *= 2;
  }
  summary.bin = Bytes{width};
  const std::uint64_t first = sorted.front().count() / width;
  const std::uint64_t last = sorted.back().count() / width;
  for (std::uint64_t bin = first; bin <= last; ++bin) {
    summary.histogram.push_back({Bytes{bin * width}, 0});
  }
  for (const Bytes value : sorted) {
    ++summary.histogram[value.count() / width - first].runs;
  }
}

ChanceMark mark_of(const Ensemble& ensemble, std::size_t mark) {
  const std::size_t steps = ensemble.marks[mark];
  const auto failed = std::ranges::count_if(ensemble.runs, [steps](const DrawnRun& run) {
    return run.failure && run.failure->step < steps;
  });
  const std::vector<Bytes> sorted =
      sorted_values(ensemble, [mark](const DrawnRun& run) { return run.highest[mark]; });
  return {.steps = steps,
          .failed = chance_of(static_cast<std::size_t>(failed), ensemble.runs.size()),
          .low = value_at(sorted, 0.05),
          .median = value_at(sorted, 0.5),
          .high = value_at(sorted, 0.95)};
}

DriftVerdict verdict_of(const Drift& drift, std::size_t changed) {
  if (changed == 0) {
    return DriftVerdict::settled;
  }
  return drift.interval.low > 0    ? DriftVerdict::grows
         : drift.interval.high < 0 ? DriftVerdict::shrinks
                                   : DriftVerdict::unclear;
}

Drift drift_of(const Ensemble& ensemble) {
  const std::size_t last = ensemble.marks.size() - 1;
  const std::size_t half = std::max<std::size_t>(ensemble.marks[last] / 2, 1);
  const auto from =
      static_cast<std::size_t>(std::ranges::find(ensemble.marks, half) - ensemble.marks.begin());
  Drift drift{.from = ensemble.marks[from], .to = ensemble.marks[last]};
  if (drift.from == drift.to) {
    return drift;
  }
  std::vector<double> rates;
  std::size_t grown = 0;
  std::size_t changed = 0;
  for (const DrawnRun& run : ensemble.runs) {
    if (!run.failure) {
      const double gain = as_double(run.reserved[last]) - as_double(run.reserved[from]);
      grown += gain > 0 ? 1U : 0U;
      changed += gain != 0 ? 1U : 0U;
      rates.push_back(gain * kPerSteps / static_cast<double>(drift.to - drift.from));
    }
  }
  drift.rate = mean_of(rates);
  drift.interval = mean_interval(rates);
  drift.grown = chance_of(grown, rates.size());
  drift.verdict = rates.empty() ? DriftVerdict::none : verdict_of(drift, changed);
  return drift;
}

}  // namespace

ChanceSummary summarise(const Ensemble& ensemble) {
  ChanceSummary summary;
  const std::vector<Bytes> reserved =
      sorted_values(ensemble, std::mem_fn(&DrawnRun::peak_reserved));
  summary.reserved = spread_of_sorted(reserved);
  summary.allocated =
      spread_of_sorted(sorted_values(ensemble, std::mem_fn(&DrawnRun::peak_allocated)));
  add_histogram(reserved, summary);
  std::size_t failed = 0;
  std::size_t fragmented = 0;
  for (const DrawnRun& run : ensemble.runs) {
    failed += run.failure ? 1U : 0U;
    fragmented += run.failure && run.failure->was_enough ? 1U : 0U;
  }
  summary.failed = chance_of(failed, ensemble.runs.size());
  summary.fragmented = chance_of(fragmented, failed);
  for (std::size_t mark = 0; mark < ensemble.marks.size(); ++mark) {
    summary.marks.push_back(mark_of(ensemble, mark));
  }
  summary.drift = drift_of(ensemble);
  return summary;
}

PairedChange change_between(const std::vector<DrawnRun>& base, const std::vector<DrawnRun>& runs) {
  std::vector<double> changes;
  for (std::size_t i = 0; i < base.size(); ++i) {
    changes.push_back(as_double(runs[i].peak_reserved) - as_double(base[i].peak_reserved));
  }
  return {mean_of(changes), mean_interval(changes)};
}

}  // namespace highwater
