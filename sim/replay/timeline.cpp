#include "sim/replay/timeline.hpp"

#include <algorithm>

namespace highwater {
namespace {

void widen(TimelineBucket& bucket, const CurveValues& low, const CurveValues& high) {
  for (std::size_t c = 0; c < kCurveCount; ++c) {
    bucket.low[c] = std::min(bucket.low[c], low[c]);
    bucket.high[c] = std::max(bucket.high[c], high[c]);
  }
}

}  // namespace

void Timeline::add(const CurveValues& values) {
  if (buckets_.empty() || in_last_ == per_bucket_) {
    if (buckets_.size() == max_buckets_) {
      join_neighbours();
    }
  }
  if (buckets_.empty() || in_last_ == per_bucket_) {
    buckets_.push_back({values, values});
    in_last_ = 1;
    return;
  }
  widen(buckets_.back(), values, values);
  ++in_last_;
}

void Timeline::join_neighbours() {
  const std::size_t joined = (buckets_.size() + 1) / 2;
  const bool odd = buckets_.size() % 2 == 1;
  for (std::size_t i = 0; i < buckets_.size() / 2; ++i) {
    TimelineBucket bucket = buckets_[2 * i];
    widen(bucket, buckets_[2 * i + 1].low, buckets_[2 * i + 1].high);
    buckets_[i] = bucket;
  }
  if (odd) {
    buckets_[joined - 1] = buckets_.back();
  }
  in_last_ = odd ? per_bucket_ : 2 * per_bucket_;
  per_bucket_ *= 2;
  buckets_.resize(joined);
}

}  // namespace highwater
