#include "sim/chance/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace highwater {
namespace {

constexpr double kTail = 0.025;                ///< on each side
constexpr double kNormal = 1.959963984540054;  ///< standard deviations of a normal distribution

}  // namespace

Interval wilson_interval(std::size_t hits, std::size_t runs) {
  if (runs == 0) {
    return {0, 1};
  }
  const auto n = static_cast<double>(runs);
  const double share = static_cast<double>(hits) / n;
  const double z2 = kNormal * kNormal;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double width =
      kNormal / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {hits == 0 ? 0 : std::max(0.0, centre - width),
          hits == runs ? 1 : std::min(1.0, centre + width)};
}

double mean_of(std::span<const double> values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

Interval mean_interval(std::span<const double> values) {
  const double mean = mean_of(values);
  if (values.size() < 2) {
    return {mean, mean};
  }
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  const boost::math::students_t student(n - 1);
  const double width = quantile(complement(student, kTail)) * std::sqrt(squares / (n - 1) / n);
  return {mean - width, mean + width};
}

QuantilePlace quantile_place(double share, std::size_t runs) {
  const std::size_t last = runs - 1;
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(runs)));
  const boost::math::binomial below(static_cast<double>(runs), share);
  const double low = quantile(below, kTail);
  const double high = quantile(complement(below, kTail));
  return {.low = static_cast<std::size_t>(std::max(0.0, std::floor(low))),
          .at = at == 0 ? 0 : std::min(at - 1, last),
          .high = std::min(last, static_cast<std::size_t>(std::ceil(high)))};
}

}  // namespace highwater
