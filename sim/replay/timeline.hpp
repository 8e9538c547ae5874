// Memory over time: the four curves of an allocator, thinned (thinned_curve.hpp).
//
// A run of operations is shown in buckets: each covers the same number of operations and has the
// lowest and the highest value of each curve in it. A run of any length costs the same memory, and
// the highest point of every curve is always exact.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/replay/thinned_curve.hpp"
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
  explicit Timeline(std::size_t max_buckets = 2048, std::uint64_t width = 1);

  /// The state after the next operation.
  void add(const CurveValues& values) { add_at(operations_++, values); }

  /// The same as adding the operations of a period of `length` another `times` times; `changes` has
  /// the changes of each curve in it, by position in the period.
  void add_periods(const std::array<CurvePeriod, kCurveCount>& changes, std::uint64_t length,
                   std::uint64_t times) {
    for (std::size_t c = 0; c < kCurveCount; ++c) {
      curves_[c].add_periods(changes[c], operations_, length, times);
    }
    operations_ += length * times;
  }

  /// The state from position `at` on, for runs that are not measured in operations.
  void add_at(std::uint64_t at, const CurveValues& values) {
    for (std::size_t c = 0; c < kCurveCount; ++c) {
      curves_[c].add(at, values[c]);
    }
  }

  [[nodiscard]] const ThinnedCurve& curve(Curve curve) const {
    return curves_[static_cast<std::size_t>(curve)];
  }

  /// Bucket i covers operations [i * n, (i+1) * n) with n = operations_per_bucket().
  [[nodiscard]] std::vector<TimelineBucket> buckets() const;
  [[nodiscard]] std::uint64_t operations_per_bucket() const;

 private:
  std::size_t max_buckets_;
  std::uint64_t width_;
  std::uint64_t operations_ = 0;
  std::array<ThinnedCurve, kCurveCount> curves_;
};

}  // namespace highwater
