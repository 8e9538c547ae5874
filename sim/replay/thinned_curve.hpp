// A curve of a replay with a bounded number of points and exact extremes.
//
// A curve is a step function: a value holds from its position on until the next one. The run is cut
// into stretches of equal width, and of each the curve keeps the first, the lowest, the highest and
// the last value that it changed to, with their positions. So every extreme is exact, and a curve
// that holds still costs nothing. Where the length of the run is not known beforehand, the width
// doubles and neighbours are joined whenever there would be too many stretches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/replay/curve_period.hpp"
#include "traces/units.hpp"

namespace highwater {

/// The lowest and the highest value that a curve has in a range of positions.
struct ValueRange {
  Bytes low;
  Bytes high;
  std::uint64_t high_at = 0;  ///< the first position of `high` in the range
};

class ThinnedCurve {
 public:
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  /// Begins with stretches of `width` positions, of which it keeps at most `max_stretches`.
  explicit ThinnedCurve(std::uint64_t width = 1, std::size_t max_stretches = kAnyNumber);

  /// Positions in ascending order; values that do not change may be left out or repeated.
  void add(std::uint64_t at, Bytes value) {
    if (value != last_) {
      change({at, value});
    }
  }

  /// The same as adding all points of `period` at `begin` + their position, then `length` further
  /// on, and so on, `times` times. The curve ends where the period ends, too.
  void add_periods(const CurvePeriod& period, std::uint64_t begin, std::uint64_t length,
                   std::uint64_t times);

  /// At most four per stretch.
  [[nodiscard]] std::vector<CurvePoint> points() const;

  /// The values that the curve has in positions [0, width), [width, 2 width), ..., `count` times.
  /// @pre `width` is a multiple of the width of the stretches
  [[nodiscard]] std::vector<ValueRange> ranges(std::uint64_t width, std::size_t count) const;

 private:
  struct Stretch {
    std::uint64_t index = 0;  ///< covers positions [index * width, (index + 1) * width)
    CurvePoint first;
    CurvePoint lowest;
    CurvePoint highest;
    CurvePoint last;
  };

  static constexpr Bytes kNoValue{std::numeric_limits<std::uint64_t>::max()};

  void change(CurvePoint point);
  void begin_stretch(CurvePoint point);
  void add_period(const CurvePeriod& period, std::uint64_t begin);
  void join_neighbours();
  static void join(Stretch& stretch, const Stretch& next);

  std::uint64_t width_;
  std::size_t max_stretches_;
  std::uint64_t end_ = 0;  ///< of the last stretch
  Bytes last_ = kNoValue;
  std::vector<Stretch> stretches_;  ///< those in which the value changes
};

}  // namespace highwater
