// Properties: however many operations are added, no extreme of any curve is lost.
#include "sim/replay/timeline.hpp"

#include <random>

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("timeline: extremes survive any number of joins", "[sim][timeline][property]") {
  const std::size_t operations = GENERATE(1U, 7U, 8U, 9U, 16U, 17U, 1000U, 4097U);
  std::mt19937 random(1);
  Timeline timeline(8);
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < operations; ++i) {
    all.push_back(random() % 1000000);
    const Bytes value{all.back()};
    timeline.add({value, value, value, Bytes{all.back() + 1}});
  }
  REQUIRE(timeline.buckets().size() <= 8);
  const std::uint64_t n = timeline.operations_per_bucket();
  REQUIRE(timeline.buckets().size() == (operations + n - 1) / n);
  for (std::size_t b = 0; b < timeline.buckets().size(); ++b) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(b * n);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(operations, (b + 1) * n));
    CHECK(timeline.buckets()[b].low[0] == Bytes{*std::min_element(begin, end)});
    CHECK(timeline.buckets()[b].high[0] == Bytes{*std::max_element(begin, end)});
    CHECK(timeline.buckets()[b].high[3] == Bytes{*std::max_element(begin, end) + 1});
  }
}
