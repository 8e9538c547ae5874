// Sequences: which points of a curve are kept.
#include "sim/replay/thinned_curve.hpp"

#include <array>
#include <vector>

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("thinned curve: a stretch keeps its first, lowest, highest and last value",
          "[sim][thinned_curve]") {
  ThinnedCurve curve(8);
  const std::array<std::uint64_t, 9> values{5, 6, 1, 7, 9, 9, 8, 3, 4};
  for (std::size_t i = 0; i < values.size(); ++i) {
    curve.add(i, Bytes{values.at(i)});
  }
  CHECK(curve.points() ==
        std::vector<CurvePoint>{{0, 5_B}, {2, 1_B}, {4, 9_B}, {7, 3_B}, {8, 4_B}});
}

TEST_CASE("thinned curve: the width doubles instead of keeping more stretches",
          "[sim][thinned_curve]") {
  ThinnedCurve curve(1, 4);
  const std::array<std::uint64_t, 8> values{5, 6, 1, 7, 9, 9, 8, 3};
  for (std::size_t i = 0; i < values.size(); ++i) {
    curve.add(i, Bytes{values.at(i)});
  }
  CHECK(curve.points() ==
        std::vector<CurvePoint>{
            {0, 5_B}, {1, 6_B}, {2, 1_B}, {3, 7_B}, {4, 9_B}, {6, 8_B}, {7, 3_B}});
  const std::vector<ValueRange> ranges = curve.ranges(2, 5);
  CHECK(ranges[2].low == 9_B);  // unchanged from its begin to its end
  CHECK(ranges[3].low == 3_B);
  CHECK(ranges[3].high == 8_B);
  CHECK(ranges[4].high == 3_B);  // holds on after the last change
}
