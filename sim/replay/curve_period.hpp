// The changes of a curve in one period of a run that repeats, so that many periods can be added to
// a thinned curve at the cost of its stretches instead of its points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

/// A value from position `at` on.
struct CurvePoint {
  std::uint64_t at = 0;
  Bytes value;

  bool operator==(const CurvePoint&) const = default;
};

class CurvePeriod {
 public:
  /// The lowest and the highest of some points, each the first of its value.
  struct Extremes {
    CurvePoint lowest;
    CurvePoint highest;
  };

  /// The value from position `at` of the period on, in ascending order.
  void add(CurvePoint point);

  [[nodiscard]] std::size_t size() const { return points_.size(); }

  [[nodiscard]] const CurvePoint& operator[](std::size_t i) const { return points_[i]; }

  /// The first point from `first` on at position `at` or behind it.
  [[nodiscard]] std::size_t first_at(std::size_t first, std::uint64_t at) const;

  /// Of the points [first, last), at least one.
  [[nodiscard]] Extremes extremes(std::size_t first, std::size_t last) const;

 private:
  static constexpr std::size_t kBlock = 64;

  static void join(Extremes& extremes, const Extremes& later);

  std::vector<CurvePoint> points_;
  std::vector<Extremes> blocks_;  ///< of each kBlock points, complete or not
};

}  // namespace highwater
