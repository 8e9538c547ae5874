#include "sim/replay/thinned_curve.hpp"

#include <algorithm>
#include <array>

namespace highwater {

ThinnedCurve::ThinnedCurve(std::uint64_t width, std::size_t max_stretches)
    : width_(width), max_stretches_(std::max<std::size_t>(max_stretches, 1)) {}

void ThinnedCurve::change(CurvePoint point) {
  last_ = point.value;
  if (point.at >= end_) {
    begin_stretch(point);
    return;
  }
  Stretch& stretch = stretches_.back();
  if (point.value < stretch.lowest.value) {
    stretch.lowest = point;
  }
  if (point.value > stretch.highest.value) {
    stretch.highest = point;
  }
  stretch.last = point;
}

void ThinnedCurve::add_periods(const CurvePeriod& period, std::uint64_t begin, std::uint64_t length,
                               std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    add_period(period, begin + i * length);
  }
}

/// A stretch at a time: what a stretch keeps of several points are their extremes and the last.
void ThinnedCurve::add_period(const CurvePeriod& period, std::uint64_t begin) {
  const auto moved = [&](CurvePoint point) { return CurvePoint{begin + point.at, point.value}; };
  for (std::size_t i = 0; i < period.size();) {
    change(moved(period[i]));
    const std::size_t next = period.first_at(i + 1, end_ - begin);
    const CurvePeriod::Extremes extremes = period.extremes(i, next);
    for (const CurvePoint& point : {extremes.lowest, extremes.highest, period[next - 1]}) {
      change(moved(point));
    }
    i = next;
  }
}

void ThinnedCurve::begin_stretch(CurvePoint point) {
  while (point.at / width_ >= max_stretches_) {
    join_neighbours();
  }
  const Stretch begun{point.at / width_, point, point, point, point};
  end_ = (begun.index + 1) * width_;
  if (!stretches_.empty() && stretches_.back().index == begun.index) {
    join(stretches_.back(), begun);
  } else {
    stretches_.push_back(begun);
  }
}

void ThinnedCurve::join_neighbours() {
  width_ *= 2;
  std::size_t kept = 0;
  for (Stretch stretch : stretches_) {
    stretch.index /= 2;
    if (kept > 0 && stretches_[kept - 1].index == stretch.index) {
      join(stretches_[kept - 1], stretch);
    } else {
      stretches_[kept++] = stretch;
    }
  }
  stretches_.resize(kept);
}

void ThinnedCurve::join(Stretch& stretch, const Stretch& next) {
  if (next.lowest.value < stretch.lowest.value) {
    stretch.lowest = next.lowest;
  }
  if (next.highest.value > stretch.highest.value) {
    stretch.highest = next.highest;
  }
  stretch.last = next.last;
}

std::vector<CurvePoint> ThinnedCurve::points() const {
  std::vector<CurvePoint> points;
  for (const Stretch& stretch : stretches_) {
    std::array kept{stretch.first, stretch.lowest, stretch.highest, stretch.last};
    std::ranges::stable_sort(kept, {}, &CurvePoint::at);
    for (const CurvePoint& point : kept) {
      if (points.empty() || points.back() != point) {
        points.push_back(point);
      }
    }
  }
  return points;
}

std::vector<ValueRange> ThinnedCurve::ranges(std::uint64_t width, std::size_t count) const {
  std::vector<ValueRange> ranges;
  ranges.reserve(count);
  auto next = stretches_.begin();
  Bytes value;
  for (std::uint64_t begin = 0; ranges.size() < count; begin += width) {
    const bool changes_at_once = next != stretches_.end() && next->first.at == begin;
    value = changes_at_once ? next->first.value : value;
    ValueRange range{value, value, begin};
    for (; next != stretches_.end() && next->first.at < begin + width; ++next) {
      range.low = std::min(range.low, next->lowest.value);
      if (next->highest.value > range.high) {
        range.high = next->highest.value;
        range.high_at = next->highest.at;
      }
      value = next->last.value;
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace highwater
