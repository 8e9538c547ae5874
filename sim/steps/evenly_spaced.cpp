#include "sim/steps/evenly_spaced.hpp"

#include <algorithm>
#include <utility>

namespace highwater {
namespace {

constexpr std::size_t kFewestLandmarks = 4;  // occurrences
constexpr std::size_t kShortestPeriod = 8;   // requests; shorter ones are loops inside of a step
constexpr std::size_t kFewestSymbols = 2;    // that share a period

constexpr std::size_t kJudgedPerLandmark = 50;  // at most, so that chance does not make a period

struct Landmark {
  std::uint32_t symbol = 0;
  std::size_t period = 0;  ///< the median distance
};

using Marks = std::vector<std::size_t>;  ///< positions, ascending
using Positions = std::vector<Marks>;

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

/// Without the first and last marks while those are not a period from the next: the same size may
/// be asked for at start-up, too.
Marks trimmed(const Marks& marks, std::size_t period) {
  auto first = marks.begin();
  auto last = marks.end();
  while (last - first > 1 && !is_near(first[1] - first[0], period)) {
    ++first;
  }
  while (last - first > 1 && !is_near(last[-1] - last[-2], period)) {
    --last;
  }
  return {first, last};
}

std::size_t uneven_distances(const Marks& marks, std::size_t period) {
  std::size_t uneven = 0;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    uneven += is_near(marks[i] - marks[i - 1], period) ? 0U : 1U;
  }
  return uneven;
}

/// Whether a symbol comes often enough to be judged.
bool is_frequent(const Marks& at, std::size_t length) {
  return at.size() >= kFewestLandmarks && 2 * (at.back() - at.front()) >= length;
}

void add_if_even(std::uint32_t symbol, const Marks& at, std::vector<Landmark>& found) {
  std::vector<std::size_t> distances;
  for (std::size_t i = 1; i < at.size(); ++i) {
    distances.push_back(at[i] - at[i - 1]);
  }
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  const std::size_t period = *middle;
  if (period >= kShortestPeriod && uneven_distances(at, period) * 5 <= distances.size()) {
    found.push_back({symbol, period});
  }
}

/// The longest period that enough evenly spaced symbols share; `found` is in order of periods,
/// `judged` the number of symbols it was found among: of many some are even by chance.
std::size_t shared_period(const std::vector<Landmark>& found, std::size_t judged) {
  std::vector<std::size_t> sharing(found.size());  // symbols from this one up to 5 % above
  std::size_t last = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    while (last < found.size() && is_near(found[last].period, found[i].period)) {
      ++last;
    }
    sharing[i] = last - i;
  }
  const std::size_t most = found.empty() ? 0 : std::ranges::max(sharing);
  for (std::size_t i = found.size(); i-- > 0;) {
    if (sharing[i] >= kFewestSymbols && sharing[i] * 10 >= most &&
        sharing[i] * kJudgedPerLandmark >= judged) {
      return found[i].period;
    }
  }
  return 0;
}

}  // namespace

std::vector<std::size_t> evenly_spaced(std::span<const std::uint32_t> symbols) {
  const Positions positions = positions_of(symbols);
  std::vector<Landmark> found;
  std::size_t judged = 0;
  for (std::uint32_t symbol = 0; symbol < positions.size(); ++symbol) {
    if (is_frequent(positions[symbol], symbols.size())) {
      ++judged;
      add_if_even(symbol, positions[symbol], found);
    }
  }
  std::ranges::stable_sort(found, {}, &Landmark::period);
  const std::size_t period = shared_period(found, judged);
  std::erase_if(found, [period](const Landmark& mark) { return !is_near(mark.period, period); });
  if (period == 0 || found.empty()) {
    return {};
  }
  Marks best;
  for (const Landmark& mark : found) {
    Marks marks = trimmed(positions[mark.symbol], period);
    const std::size_t uneven = uneven_distances(marks, period);
    const std::size_t least = uneven_distances(best, period);
    if (best.empty() || uneven < least || (uneven == least && marks.size() > best.size())) {
      best = std::move(marks);
    }
  }
  return best;
}

}  // namespace highwater
