// Distributions against what their formulas say.
#include "sim/chance/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "sim/chance/intervals.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

Distribution distribution(const std::string& text) {
  const DistributionReading reading = read_distribution(text, 1);
  CAPTURE(text, reading.complaint);
  REQUIRE(reading.value);
  return *reading.value;
}

std::vector<double> drawn(const std::string& text, std::size_t count) {
  const Distribution from = distribution(text);
  RandomNumbers numbers(3, 0, Drawn::lengths);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(from.draw(numbers)));
  }
  return values;
}

double share_of(const std::vector<double>& values, double value) {
  return static_cast<double>(std::ranges::count(values, value)) /
         static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("distribution: uniform draws each number alike, both ends included", "[chance]") {
  const std::vector<double> values = drawn("uniform:3..6", 40'000);
  for (const double value : {3.0, 4.0, 5.0, 6.0}) {
    CHECK(share_of(values, value) == Approx(0.25).margin(0.01));
  }
}

TEST_CASE("distribution: lognormal has its median, and its max holds what is above", "[chance]") {
  std::vector<double> values = drawn("lognormal:median=300,sigma=0.5,max=600", 40'000);
  std::ranges::sort(values);
  CHECK(values[20'000] == Approx(300).margin(4));
  CHECK(values.back() == 600);
  // ln 2 / 0.5 = 1.386 standard deviations: 8.29 % of a normal distribution lie above.
  CHECK(share_of(values, 600) == Approx(0.0829).margin(0.005));
}

TEST_CASE("distribution: normal, geometric and zipf follow their formulas", "[chance]") {
  CHECK(mean_of(drawn("normal:mean=500,sd=100", 40'000)) == Approx(500).margin(2));
  const std::vector<double> geometric = drawn("geometric:mean=4", 40'000);
  CHECK(mean_of(geometric) == Approx(4).margin(0.08));
  CHECK(share_of(geometric, 1) == Approx(0.25).margin(0.01));
  // 1 + 1/2 + 1/3 + 1/4 = 25/12
  const std::vector<double> zipf = drawn("zipf:exponent=1,max=4", 40'000);
  CHECK(share_of(zipf, 1) == Approx(12.0 / 25).margin(0.01));
  CHECK(share_of(zipf, 4) == Approx(3.0 / 25).margin(0.01));
}

TEST_CASE("distribution: what is wrong is said with what to write", "[chance]") {
  const auto complaint = [](const char* text) { return read_distribution(text, 1).complaint; };
  CHECK_THAT(complaint("gamma:mean=3"), Contains("unknown distribution 'gamma'"));
  CHECK_THAT(complaint("uniform:9..3"), Contains("range is empty"));
  CHECK_THAT(complaint("uniform:0..3"), Contains("begins below 1"));
  CHECK_THAT(complaint("lognormal:median=3"), Contains("'sigma=' is missing"));
  CHECK_THAT(complaint("normal:mean=3,sd=1,mode=2"), Contains("no 'mode'"));
  CHECK_THAT(complaint("zipf:exponent=1"), Contains("'max=' is missing"));
  CHECK_THAT(complaint("normal:mean=3,sd=-1"), Contains("below 0"));
  CHECK_THAT(complaint("normal:mean=x,sd=1"), Contains("'x' is not a number"));
}

TEST_CASE("random numbers: SplitMix64's own sequence, and one for each run and purpose",
          "[chance]") {
  // Two sequences with nothing in common in their first thousand numbers.
  std::map<std::uint64_t, int> seen;
  for (const std::uint64_t run : {0U, 1U, 2U}) {
    for (const Drawn what : {Drawn::lengths, Drawn::loads}) {
      RandomNumbers numbers(1, run, what);
      for (int i = 0; i < 1000; ++i) {
        ++seen[numbers.next()];
      }
    }
  }
  CHECK(seen.size() == 6000);
}
