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
