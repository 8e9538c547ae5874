#include "workloads/plan/options/varied_lengths.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <boost/math/distributions/normal.hpp>

namespace highwater {
namespace {

/// Of the logarithm of a text's length.
constexpr double kSpread = 0.6;
constexpr double kUncut = 0.95;
constexpr std::int64_t kWhole = 1000;

/// Which of the equally likely parts of the distribution a batch is from: in no order, since what
/// short batches leave behind does not fit long ones.
constexpr std::array kOrder{8, 3, 12, 15, 1, 10, 5, 13, 0, 7, 14, 2, 11, 4, 9, 6};

}  // namespace

std::vector<std::int64_t> varied_shares(std::int64_t batch) {
  const boost::math::normal normal;
  const double cut = quantile(normal, kUncut);
  std::vector<std::int64_t> shares;
  for (const int part : kOrder) {
    // The chance that all examples of a batch are shorter is that of one to the power of their
    // number.
    const double of_batch = (part + 0.5) / static_cast<double>(kOrder.size());
    const double of_one =
        std::pow(of_batch, 1.0 / static_cast<double>(std::max<std::int64_t>(batch, 1)));
    const double share = std::exp(kSpread * (quantile(normal, of_one) - cut));
    shares.push_back(std::min(
        kWhole, static_cast<std::int64_t>(std::lround(share * static_cast<double>(kWhole)))));
  }
  return shares;
}

std::vector<std::int64_t> varied_lengths(std::int64_t longest, std::vector<std::int64_t> shares) {
  for (std::int64_t& share : shares) {
    share = std::max<std::int64_t>(1, longest * share / kWhole);
  }
  return shares;
}

}  // namespace highwater
