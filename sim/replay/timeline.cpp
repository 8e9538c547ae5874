#include "sim/replay/timeline.hpp"

#include <algorithm>

namespace highwater {

Timeline::Timeline(std::size_t max_buckets, std::uint64_t width)
    : max_buckets_(std::max<std::size_t>(max_buckets, 1)), width_(width) {
  curves_.fill(ThinnedCurve(width_, max_buckets_));
}

std::uint64_t Timeline::operations_per_bucket() const {
  std::uint64_t width = width_;
  while (operations_ > max_buckets_ * width) {
    width *= 2;
  }
  return width;
}

std::vector<TimelineBucket> Timeline::buckets() const {
  const std::uint64_t width = operations_per_bucket();
  std::vector<TimelineBucket> buckets((operations_ + width - 1) / width);
  for (std::size_t c = 0; c < kCurveCount; ++c) {
    const std::vector<ValueRange> ranges = curves_[c].ranges(width, buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      buckets[i].low[c] = ranges[i].low;
      buckets[i].high[c] = ranges[i].high;
    }
  }
  return buckets;
}

}  // namespace highwater
