#include "sim/steps/robust_growth.hpp"

#include <algorithm>
#include <cmath>

namespace highwater {
namespace {

constexpr std::size_t kFewestValues = 3;
constexpr std::size_t kMost = 1000;
constexpr double kNormal95 = 1.959964;  // two-sided 95 % of the normal distribution

std::vector<double> pair_slopes(const std::vector<Bytes>& values) {
  const std::size_t count = std::min(values.size(), kMost);
  const auto position = [&](std::size_t i) { return i * (values.size() - 1) / (count - 1); };
  const auto value = [&](std::size_t i) {
    return static_cast<double>(values[position(i)].count());
  };
  std::vector<double> slopes;
  slopes.reserve(count * (count - 1) / 2);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      slopes.push_back((value(j) - value(i)) / static_cast<double>(position(j) - position(i)));
    }
  }
  return slopes;
}

}  // namespace

Growth robust_growth(const std::vector<Bytes>& values) {
  if (values.size() < kFewestValues) {
    return {};
  }
  std::vector<double> slopes = pair_slopes(values);
  std::ranges::sort(slopes);
  const double n = static_cast<double>(std::min(values.size(), kMost));
  const double all = static_cast<double>(slopes.size());
  const double spread = kNormal95 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const auto at_rank = [&](double rank) {
    return slopes[static_cast<std::size_t>(std::clamp(std::floor(rank), 0.0, all - 1))];
  };
  const std::size_t middle = slopes.size() / 2;
  const double median =
      slopes.size() % 2 == 1 ? slopes[middle] : (slopes[middle - 1] + slopes[middle]) / 2;
  return {median, at_rank((all - spread) / 2 - 1), at_rank((all + spread) / 2)};
}

}  // namespace highwater
