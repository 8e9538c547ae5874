// How sure a figure from a number of runs is: intervals that contain the true value 95 times in
// 100.
#pragma once

#include <cstddef>
#include <span>

namespace highwater {

struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};

/// The share of `hits` in `runs`, where runs are independent: E. B. Wilson, Probable inference, the
/// law of succession, and statistical inference (JASA 22, 1927), which Brown, Cai and DasGupta
/// (Statistical Science 16, 2001) recommend for small numbers; 0 of n gives more than 0.
Interval wilson_interval(std::size_t hits, std::size_t runs);

/// The mean of `values`: Student (Biometrika 6, 1908); without a width for fewer than two.
Interval mean_interval(std::span<const double> values);

double mean_of(std::span<const double> values);

/// Positions (from 0) in the sorted values of `runs` between which the quantile `share` lies,
/// whatever the distribution: order statistics, W. J. Conover, Practical Nonparametric Statistics
/// (1999), section 3.2. Clamped to the first and the last value, which for extreme quantiles of few
/// runs are less sure.
struct QuantilePlace {
  std::size_t low = 0;
  std::size_t at = 0;
  std::size_t high = 0;
};

/// @pre runs > 0
QuantilePlace quantile_place(double share, std::size_t runs);

}  // namespace highwater
