// Memory over time with a bounded number of samples and nothing lost at the top or the bottom.
//
// Each bucket covers the same number of operations and keeps the smallest and largest value of each
// curve in it; when all buckets are used, neighbours are joined. So a trace of any length costs
// the same memory, and the highest point of every curve is always exact.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

enum class Curve : std::uint8_t { requested, allocated, active, reserved };
inline constexpr std::size_t kCurveCount = 4;

using CurveValues = std::array<Bytes, kCurveCount>;

struct TimelineBucket {
  CurveValues low{};
  CurveValues high{};
};

class Timeline {
 public:
  explicit Timeline(std::size_t max_buckets = 2048) : max_buckets_(max_buckets) {}

  /// The state after the next operation.
  void add(const CurveValues& values);

  [[nodiscard]] const std::vector<TimelineBucket>& buckets() const { return buckets_; }

  /// Bucket i covers operations [i * n, (i+1) * n) with n = operations_per_bucket().
  [[nodiscard]] std::uint64_t operations_per_bucket() const { return per_bucket_; }

 private:
  void join_neighbours();

  std::size_t max_buckets_;
  std::uint64_t per_bucket_ = 1;
  std::uint64_t in_last_ = 0;  ///< operations in the last bucket
  std::vector<TimelineBucket> buckets_;
};

}  // namespace highwater
