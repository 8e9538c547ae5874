#include "sim/scaling/monomials.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace highwater {
namespace {

constexpr int kHighestPower = 2;
constexpr int kHighestDegree = 3;

int degree(const Exponents& exponents) {
  return std::accumulate(exponents.begin(), exponents.end(), 0);
}

/// Fewer squares first; among those without, larger products first: a size has all dimensions.
auto likelihood(const Exponents& exponents) {
  const auto squares = std::ranges::count_if(exponents, [](std::uint8_t e) { return e > 1; });
  const int size = degree(exponents);
  return std::tuple(size != 0, squares, squares == 0 ? -size : size, exponents);
}

bool varies(const std::vector<Values>& points, std::size_t integer) {
  return std::ranges::any_of(
      points, [&](const Values& values) { return values[integer] != points.front()[integer]; });
}

}  // namespace

Fraction product_at(const Exponents& exponents, std::span<const std::uint64_t> values) {
  Fraction product = 1;
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    for (std::uint8_t power = 0; power < exponents[i]; ++power) {
      product = product * Fraction(static_cast<WideInteger>(values[i]));
    }
  }
  return product;
}

std::vector<Exponents> monomials_for(const std::vector<Values>& points) {
  const std::size_t integers = points.front().size();
  std::vector<Exponents> monomials{Exponents(integers, 0)};
  for (std::size_t i = 0; i < integers; ++i) {
    const std::size_t known = varies(points, i) ? monomials.size() : 0;
    for (std::size_t m = 0; m < known; ++m) {
      for (int power = 1; power <= kHighestPower; ++power) {
        Exponents next = monomials[m];
        next[i] = static_cast<std::uint8_t>(power);
        monomials.push_back(std::move(next));
      }
    }
  }
  std::erase_if(monomials, [](const Exponents& each) { return degree(each) > kHighestDegree; });
  std::ranges::sort(monomials, {}, likelihood);
  return monomials;
}

}  // namespace highwater
