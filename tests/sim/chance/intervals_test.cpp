// Intervals against published figures and against binomial chances worked out by hand.
#include "sim/chance/intervals.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("intervals: Wilson's, as published", "[chance]") {
  // R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263, 15 of 148, 0 of
  // 20, 1 of 29.
  const Interval most = wilson_interval(81, 263);
  CHECK(most.low == Approx(0.2553).margin(0.00005));
  CHECK(most.high == Approx(0.3662).margin(0.00005));
  const Interval some = wilson_interval(15, 148);
  CHECK(some.low == Approx(0.0624).margin(0.00005));
  CHECK(some.high == Approx(0.1605).margin(0.00005));
  const Interval none = wilson_interval(0, 20);
  CHECK(none.low == 0);
  CHECK(none.high == Approx(0.1611).margin(0.00005));
  const Interval one = wilson_interval(1, 29);
  CHECK(one.low == Approx(0.0061).margin(0.00005));
  CHECK(one.high == Approx(0.1718).margin(0.00005));
}

TEST_CASE("intervals: Student's, by hand", "[chance]") {
  // Mean 3, standard deviation sqrt(2.5), t of 4 degrees of freedom 2.7764: 2.7764 * sqrt(2.5 / 5).
  const Interval interval = mean_interval(std::vector<double>{1, 2, 3, 4, 5});
  CHECK(interval.low == Approx(3 - 1.9633).margin(0.0005));
  CHECK(interval.high == Approx(3 + 1.9633).margin(0.0005));
}

TEST_CASE("intervals: the median lies between these of ten values", "[chance]") {
  // Of ten values at most one below the median: 11 / 1024 = 0.0107; at most two: 56 / 1024 =
  // 0.0547. So the second smallest and the second largest hold it 97.9 times in 100.
  const QuantilePlace place = quantile_place(0.5, 10);
  CHECK(place.low == 1);
  CHECK(place.at == 4);
  CHECK(place.high == 8);
}

TEST_CASE("intervals: extreme quantiles of few runs end at the first and last", "[chance]") {
  const QuantilePlace place = quantile_place(0.99, 20);
  CHECK(place.at == 19);
  CHECK(place.high == 19);
}
