#include "tools/studies/scan/rank_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace highwater {
namespace {

double median_of(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <class Figure>
std::vector<double> values_of(const Scan& scan, Figure figure) {
  std::vector<double> values;
  for (const ScanRow& row : scan.rows) {
    if (!row.is_error()) {
      values.push_back(figure(row));
    }
  }
  return values;
}

auto peak_figure(Bytes Usage::*figure) {
  return [figure](const ScanRow& row) { return static_cast<double>((row.peak.*figure).count()); };
}

double growth_figure(const ScanRow& row) {
  return row.growth.live.per_step;
}

/// Whole quotients and remainders: no sum grows beyond the greatest value, and equal values have
/// their own value as the mean.
class MeanOfBytes {
 public:
  explicit MeanOfBytes(std::size_t count) : count_(count) {}

  void add(Bytes value) {
    whole_ += value.count() / count_;
    rest_ += value.count() % count_;
  }

  [[nodiscard]] double mean() const {
    const std::uint64_t whole = whole_ + rest_ / count_;
    return static_cast<double>(whole) +
           static_cast<double>(rest_ % count_) / static_cast<double>(count_);
  }

 private:
  std::uint64_t count_;
  std::uint64_t whole_ = 0;
  std::uint64_t rest_ = 0;
};

std::optional<Spread> spread_of(const Scan& scan, Bytes Usage::*figure) {
  const std::vector<double> values = values_of(scan, peak_figure(figure));
  if (values.empty()) {
    return std::nullopt;
  }
  Spread spread;
  MeanOfBytes mean(values.size());
  spread.lowest = Bytes{std::numeric_limits<std::uint64_t>::max()};
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    const Bytes value = scan.rows[i].peak.*figure;
    if (scan.rows[i].is_error()) {
      continue;
    }
    spread.lowest = std::min(spread.lowest, value);
    if (value > spread.highest) {
      spread.highest = value;
      spread.highest_row = i;
    }
    mean.add(value);
  }
  spread.mean = mean.mean();
  spread.median = Bytes{static_cast<std::uint64_t>(median_of(values))};
  return spread;
}

constexpr double kNoise = 0.01;  ///< of the median: so close figures are taken for the same

/// Whether few of the `sorted` figures are as high as `value`.
bool is_rare(const std::vector<double>& sorted, double value, double noise) {
  constexpr std::ptrdiff_t kOneIn = 4;
  const auto low = std::ranges::lower_bound(sorted, value - noise);
  const auto high = std::ranges::upper_bound(sorted, value + noise);
  return (high - low) * kOneIn <= std::ssize(sorted);
}

/// For every row whether `figure` lies far off the others'.
template <class Figure>
std::vector<bool> outliers_of(const Scan& scan, Figure figure) {
  constexpr std::size_t kFewest = 4;
  constexpr double kScore = 3.5;
  constexpr double kNormal = 0.6745;  // quartile of the normal distribution: MAD as a deviation
  std::vector<double> values = values_of(scan, figure);
  std::vector<bool> marks(scan.rows.size());
  if (values.size() < kFewest) {
    return marks;
  }
  const double median = median_of(values);
  std::vector<double> deviations;
  for (const double value : values) {
    deviations.push_back(std::abs(value - median));
  }
  const double mad = median_of(deviations);
  const double noise = kNoise * std::abs(median);
  std::ranges::sort(values);
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    const double value = figure(scan.rows[i]);
    const double off = std::abs(value - median);
    const bool is_far = mad > 0 ? kNormal * off > kScore * mad : is_rare(values, value, noise);
    marks[i] = !scan.rows[i].is_error() && off > noise && is_far;
  }
  return marks;
}

void mark_outliers(Scan& scan) {
  const std::vector<bool> reserved = outliers_of(scan, peak_figure(&Usage::reserved));
  const std::vector<bool> allocated = outliers_of(scan, peak_figure(&Usage::allocated));
  const std::vector<bool> growth = outliers_of(scan, growth_figure);
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    ScanRow& row = scan.rows[i];
    row.is_reserved_outlier = reserved[i];
    row.is_allocated_outlier = allocated[i];
    row.is_growth_outlier = growth[i] && row.growth.live.grows();
  }
}

using PartKey = std::pair<HeldBy, std::uint32_t>;

/// The median of each part over all rows with numbers.
std::map<PartKey, double> usual_parts(const Scan& scan) {
  std::map<PartKey, std::vector<double>> values;
  std::size_t rows = 0;
  for (const ScanRow& row : scan.rows) {
    rows += row.is_error() ? 0U : 1U;
    for (const HeldShare& share : row.held) {
      values[{share.by, share.name}].push_back(static_cast<double>(share.bytes.count()));
    }
  }
  std::map<PartKey, double> usual;
  for (auto& [key, list] : values) {
    list.resize(std::max(rows, list.size()));  // 0 in the others
    usual.emplace(key, median_of(std::move(list)));
  }
  return usual;
}

/// Every part of which the row holds another amount than usual, the largest difference first.
std::vector<RankDifference> differences_of(const Scan& scan, std::size_t row,
                                           const std::map<PartKey, double>& usual) {
  std::map<PartKey, Bytes> own;
  for (const HeldShare& share : scan.rows[row].held) {
    own.emplace(PartKey{share.by, share.name}, share.bytes);
  }
  std::vector<RankDifference> list;
  for (const auto& [key, median] : usual) {
    const auto found = own.find(key);
    list.push_back({row, key.first, key.second, found == own.end() ? Bytes{} : found->second,
                    Bytes{static_cast<std::uint64_t>(median)}});
  }
  std::ranges::stable_sort(list, std::ranges::greater{}, &RankDifference::amount);
  return list;
}

/// The largest of each kind, if it is more than one per cent of the row's memory.
void add_differences(Scan& scan, std::size_t row, const std::map<PartKey, double>& usual) {
  constexpr std::uint64_t kWorthSaying = 100;
  for (const HeldBy by : {HeldBy::category, HeldBy::phase, HeldBy::site}) {
    for (const RankDifference& difference : differences_of(scan, row, usual)) {
      if (difference.by == by) {
        if (difference.amount() * kWorthSaying > scan.rows[row].peak.allocated) {
          scan.differences.push_back(difference);
        }
        break;
      }
    }
  }
}

void explain_outliers(Scan& scan) {
  const std::map<PartKey, double> usual = usual_parts(scan);
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    if (scan.rows[i].is_outlier()) {
      add_differences(scan, i, usual);
    }
  }
}

}  // namespace

void compare_rows(Scan& scan) {
  mark_outliers(scan);
  scan.reserved = spread_of(scan, &Usage::reserved);
  scan.allocated = spread_of(scan, &Usage::allocated);
  explain_outliers(scan);
}

}  // namespace highwater
