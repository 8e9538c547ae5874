// What many runs that differ by chance come to: how peak reserved is distributed, how likely memory
// runs out by a step, whether reserved still grows at the end; each with its interval.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/chance/ensemble.hpp"
#include "sim/chance/intervals.hpp"

namespace highwater {

/// A quantile of the runs, between two of which the true one lies 95 times in 100.
struct Quantile {
  double share = 0;
  Bytes value;
  Bytes low;
  Bytes high;
};

/// How many runs have a value from `begin` on, below the next bin.
struct HistogramBin {
  Bytes begin;
  std::size_t runs = 0;
};

struct Spread95 {
  double mean = 0;  ///< bytes
  Interval interval;
  Bytes lowest;
  Bytes highest;
  std::vector<Quantile> quantiles;
};

/// A share of the runs.
struct Chance {
  std::size_t runs = 0;
  double share = 0;
  Interval interval;
};

/// How far runs are after a number of steps.
struct ChanceMark {
  std::size_t steps = 0;
  Chance failed;  ///< have run out of memory
  Bytes low;      ///< peak reserved so far: 5 in 100 runs are below it,
  Bytes median;   ///< half of them,
  Bytes high;     ///< 95 in 100
};

enum class DriftVerdict : std::uint8_t {
  none,     ///< no run that came to its end
  settled,  ///< reserved was the same at half of the steps and at the end, in every run
  unclear,  ///< it changed in some, and the mean may be 0
  grows,
  shrinks,
};

/// Reserved at the end against half of the steps, of runs that came to their end.
struct Drift {
  DriftVerdict verdict = DriftVerdict::none;
  std::size_t from = 0;  ///< steps
  std::size_t to = 0;
  double rate = 0;  ///< bytes per 1000 steps, in the mean
  Interval interval;
  Chance grown;  ///< runs that reserve more at the end
};

struct ChanceSummary {
  Spread95 reserved;                    ///< peaks; of a run that failed, until then
  Spread95 allocated;                   ///< peaks
  std::vector<HistogramBin> histogram;  ///< of peak reserved
  Bytes bin;                            ///< width of each
  Chance failed;
  Chance fragmented;  ///< of those that failed: what was requested and allocated was less than the
                      ///< limit
  std::vector<ChanceMark> marks;
  Drift drift;
};

/// @pre there is a run
ChanceSummary summarise(const Ensemble& ensemble);

/// The difference of the means of peak reserved, run by run: both ensembles drew the same.
struct PairedChange {
  double mean = 0;  ///< bytes
  Interval interval;
};

PairedChange change_between(const std::vector<DrawnRun>& base, const std::vector<DrawnRun>& runs);

}  // namespace highwater
