#include "workloads/plan/moe_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace highwater {
namespace {

using Counts = std::vector<std::int64_t>;

// All experts in turns: the first ones get what is left over.
Counts in_turns(const Routing& routing) {
  const std::int64_t choices = routing.tokens * routing.top_k;
  Counts counts(static_cast<std::size_t>(routing.experts), choices / routing.experts);
  const auto left = static_cast<std::ptrdiff_t>(choices % routing.experts);
  std::for_each(counts.begin(), counts.begin() + left, [](std::int64_t& count) { ++count; });
  return counts;
}

std::vector<std::size_t> largest_first(const std::vector<double>& shares) {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  return order;
}

// What one expert cannot take, others do. Halves are rounded to even numbers, as in Python.
Counts by_share(const Routing& routing, const std::vector<double>& shares) {
  Counts counts(shares.size(), 0);
  std::int64_t left = routing.tokens * routing.top_k;
  double left_shares = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (const std::size_t expert : largest_first(shares)) {
    const double share = left_shares > 0 ? shares[expert] / left_shares : 0;
    const auto wanted = std::int64_t{std::llrint(static_cast<double>(left) * share)};
    counts[expert] = std::min(routing.tokens, wanted);
    left -= counts[expert];
    left_shares -= shares[expert];
  }
  for (std::int64_t& count : counts) {
    const std::int64_t more = std::min(left, routing.tokens - count);
    count += more;
    left -= more;
  }
  return counts;
}

// Zipf's law, as text has it for words.
std::vector<double> zipf_shares(double exponent, std::int64_t experts) {
  std::vector<double> shares;
  for (std::int64_t i = 1; i <= experts; ++i) {
    shares.push_back(std::pow(static_cast<double>(i), -exponent));
  }
  return shares;
}

}  // namespace

MoeLoad load_of_group(const MoeLoad& load, std::int64_t experts, int group) {
  const auto count = static_cast<std::size_t>(experts);
  if (load.shares.size() <= count) {
    return load;
  }
  const auto first = load.shares.begin() + static_cast<std::ptrdiff_t>(experts * group);
  return {.shares = {first, first + static_cast<std::ptrdiff_t>(experts)}, .file = load.file};
}

std::vector<double> expert_shares(const MoeLoad& load, std::int64_t experts, int ranks) {
  if (load.zipf) {
    return zipf_shares(*load.zipf, experts);
  }
  if (!load.busiest) {
    return load.shares;
  }
  const std::int64_t places = ranks > 1 ? ranks : experts;
  const std::int64_t busy = experts / places;
  const double share = std::min(*load.busiest / static_cast<double>(places), 1.0);
  const auto others = static_cast<double>(std::max<std::int64_t>(experts - busy, 1));
  std::vector<double> shares(static_cast<std::size_t>(experts), (1 - share) / others);
  std::fill_n(shares.begin(), busy, share / static_cast<double>(busy));
  return shares;
}

Counts expert_counts(const MoeLoad& load, const Routing& routing, int ranks) {
  return is_even(load) ? in_turns(routing)
                       : by_share(routing, expert_shares(load, routing.experts, ranks));
}

}  // namespace highwater
