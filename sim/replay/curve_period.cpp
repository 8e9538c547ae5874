#include "sim/replay/curve_period.hpp"

#include <algorithm>

namespace highwater {

void CurvePeriod::join(Extremes& extremes, const Extremes& later) {
  if (later.lowest.value < extremes.lowest.value) {
    extremes.lowest = later.lowest;
  }
  if (later.highest.value > extremes.highest.value) {
    extremes.highest = later.highest;
  }
}

void CurvePeriod::add(CurvePoint point) {
  if (points_.size() % kBlock == 0) {
    blocks_.push_back({point, point});
  } else {
    join(blocks_.back(), {point, point});
  }
  points_.push_back(point);
}

std::size_t CurvePeriod::first_at(std::size_t first, std::uint64_t at) const {
  const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto found = std::ranges::lower_bound(begin, points_.end(), at, {}, &CurvePoint::at);
  return static_cast<std::size_t>(found - points_.begin());
}

CurvePeriod::Extremes CurvePeriod::extremes(std::size_t first, std::size_t last) const {
  Extremes result{points_[first], points_[first]};
  for (std::size_t i = first + 1; i < last;) {
    if (i % kBlock == 0 && i + kBlock <= last) {
      join(result, blocks_[i / kBlock]);
      i += kBlock;
    } else {
      join(result, {points_[i], points_[i]});
      ++i;
    }
  }
  return result;
}

}  // namespace highwater
