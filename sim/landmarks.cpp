#include "sim/landmarks.hpp"

#include <algorithm>
#include <cstdlib>

namespace highwater {
namespace {

constexpr std::size_t kFewest = 4;          // occurrences
constexpr std::size_t kShortestPeriod = 8;  // requests; shorter ones are loops inside of a step
constexpr std::size_t kFewestSymbols = 2;   // that share a period

struct Landmark {
  std::uint32_t symbol = 0;
  std::size_t period = 0;  ///< the median distance
  std::size_t uneven = 0;  ///< distances that are not within 5 % of it
};

using Positions = std::vector<std::vector<std::size_t>>;

Positions positions_of(std::span<const std::uint32_t> symbols) {
  Positions positions;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] >= positions.size()) {
      positions.resize(symbols[i] + std::size_t{1});
    }
    positions[symbols[i]].push_back(i);
  }
  return positions;
}

bool is_near(std::size_t distance, std::size_t period) {
  const std::size_t off = distance > period ? distance - period : period - distance;
  return off * 20 <= period;
}

void add_if_even(std::uint32_t symbol, const std::vector<std::size_t>& at, std::size_t length,
                 std::vector<Landmark>& found) {
  if (at.size() < kFewest || 2 * (at.back() - at.front()) < length) {
    return;
  }
  std::vector<std::size_t> distances;
  for (std::size_t i = 1; i < at.size(); ++i) {
    distances.push_back(at[i] - at[i - 1]);
  }
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  const std::size_t period = *middle;
  const auto uneven = static_cast<std::size_t>(std::ranges::count_if(
      distances, [period](std::size_t distance) { return !is_near(distance, period); }));
  if (period >= kShortestPeriod && uneven * 5 <= distances.size()) {
    found.push_back({symbol, period, uneven});
  }
}

/// The longest period that enough landmarks share; `found` is in order of periods.
std::size_t shared_period(const std::vector<Landmark>& found) {
  std::vector<std::size_t> sharing(found.size());  // landmarks from this one up to 5 % above
  std::size_t last = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    while (last < found.size() && is_near(found[last].period, found[i].period)) {
      ++last;
    }
    sharing[i] = last - i;
  }
  const std::size_t most = found.empty() ? 0 : std::ranges::max(sharing);
  for (std::size_t i = found.size(); i-- > 0;) {
    if (sharing[i] >= kFewestSymbols && sharing[i] * 10 >= most) {
      return found[i].period;
    }
  }
  return 0;
}

}  // namespace

std::vector<std::size_t> landmarks(std::span<const std::uint32_t> symbols) {
  const Positions positions = positions_of(symbols);
  std::vector<Landmark> found;
  for (std::uint32_t symbol = 0; symbol < positions.size(); ++symbol) {
    add_if_even(symbol, positions[symbol], symbols.size(), found);
  }
  std::ranges::stable_sort(found, {}, &Landmark::period);
  const std::size_t period = shared_period(found);
  std::erase_if(found, [period](const Landmark& mark) { return !is_near(mark.period, period); });
  if (period == 0 || found.empty()) {
    return {};
  }
  const auto evenness = [&](const Landmark& mark) {
    return static_cast<double>(mark.uneven) / static_cast<double>(positions[mark.symbol].size());
  };
  return positions[std::ranges::min_element(found, {}, evenness)->symbol];
}

}  // namespace highwater
