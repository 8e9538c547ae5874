#include "tools/reports/rank_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "tools/reports/rank_members.hpp"
#include "tools/studies/runs/rank_imbalance.hpp"

namespace highwater {
namespace {

std::string left_out(const RankPeaks& survey) {
  return survey.peaks.size() < survey.classes
             ? fmt::format(" ({} of {} kinds of ranks simulated; --rank all simulates all)",
                           survey.peaks.size(), survey.classes)
             : "";
}

using Peaks = std::span<const RankPeak>;

bool has_same_figures(const RankPeak& a, const RankPeak& b) {
  return a.peak == b.peak && a.fits == b.fits;
}

/// Neighbours whose figures are the same.
struct AlikeRanks {
  Peaks peaks;
  bool is_limited = false;

  [[nodiscard]] const RankPeak& first() const { return peaks.front(); }

  [[nodiscard]] std::int64_t count() const {
    return std::accumulate(
        peaks.begin(), peaks.end(), std::int64_t{0},
        [](std::int64_t sum, const RankPeak& each) { return sum + each.ranks.ranks; });
  }

  [[nodiscard]] std::string what() const {
    return first().ranks.what + (peaks.size() == 1 ? "" : " to " + peaks.back().ranks.what);
  }

  [[nodiscard]] const char* fits() const { return !is_limited ? "-" : first().fits ? "yes" : "no"; }
};

std::vector<AlikeRanks> alike_ranks(const RankPeaks& survey) {
  std::vector<AlikeRanks> groups;
  Peaks rest = survey.peaks;
  while (!rest.empty()) {
    const auto end = std::ranges::find_if(
        rest, [&](const RankPeak& other) { return !has_same_figures(other, rest.front()); });
    const auto size = static_cast<std::size_t>(end - rest.begin());
    groups.push_back({rest.first(size), survey.is_limited});
    rest = rest.subspan(size);
  }
  return groups;
}

}  // namespace

Table rank_table(const RankPeaks& survey) {
  using enum Align;
  static const Columns<AlikeRanks> kColumns{
      {"", "rank", right, [](const AlikeRanks& row) { return row.first().ranks.rank; }},
      {"", "equivalent ranks", right, &AlikeRanks::count},
      {"", "what", left, &AlikeRanks::what},
      {"", "allocated", right, [](const AlikeRanks& row) { return row.first().peak.allocated; }},
      {"", "reserved", right, [](const AlikeRanks& row) { return row.first().peak.reserved; }},
      {"", "fits", left, &AlikeRanks::fits}};
  return tabulate("Peak by rank", kColumns,
                  survey.peaks.size() == 1 ? std::vector<AlikeRanks>{} : alike_ranks(survey));
}

namespace {

std::string name_of(Category category) {
  std::string name(to_string(category));
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string words_of_categories(const RankGap& difference) {
  std::string text;
  for (const auto& [category, change] : difference.categories) {
    text +=
        fmt::format("{}{}{} {}", text.empty() ? "" : ", ", change < 0 ? "-" : "+",
                    to_iec(Bytes{static_cast<std::uint64_t>(std::abs(change))}), name_of(category));
  }
  return text;
}

std::string rank_words(const RankPeak& peak) {
  return fmt::format("rank {}, {}", peak.ranks.rank, to_iec(peak.reserved_without_limit));
}

}  // namespace

Table imbalance_table(const RankPeaks& survey) {
  using enum Align;
  static const Columns<RankGap> kColumns{
      {"", "between", left, &RankGap::between},
      {"", "needs most", left, [](const auto& row) { return rank_words(row.most); }},
      {"", "needs least", left, [](const auto& row) { return rank_words(row.least); }},
      {"", "difference", right, &RankGap::bytes},
      {"", "at the peak", left, words_of_categories},
      {"", "cause", left, &RankGap::cause}};
  return tabulate("Imbalance between ranks", kColumns, rank_imbalance(survey));
}

std::string rank_sentence(const RankPeaks& survey) {
  const RankPeak& worst = survey.peaks[survey.worst];
  if (survey.classes == 1) {
    return fmt::format("all {} ranks make the same requests; showing rank {}\n", survey.ranks,
                       worst.ranks.rank);
  }
  if (survey.peaks.size() == 1) {
    return fmt::format("showing rank {} of {}, of {} kinds of ranks\n", worst.ranks.rank,
                       survey.ranks, survey.classes);
  }
  const std::string why = survey.why();
  const Bytes reserved = worst.reserved_without_limit;
  return fmt::format("rank {} of {} ({}) needs most: {} reserved, {:.2f} times the mean{}{}\n",
                     worst.ranks.rank, survey.ranks, worst.ranks.what, to_iec(reserved),
                     static_cast<double>(reserved.count()) / survey.mean_reserved(),
                     why.empty() ? "" : fmt::format(" ({})", why), left_out(survey));
}

std::vector<RankLine> rank_lines(const RankPeaks& survey) {
  std::vector<RankLine> lines;
  for (std::size_t i = 0; i < survey.peaks.size(); ++i) {
    lines.push_back({survey.peaks[i], survey.is_limited, i == survey.worst});
  }
  return lines;
}

std::vector<CategoryGap> category_gaps(const RankGap& gap) {
  std::vector<CategoryGap> gaps;
  for (const auto& [category, change] : gap.categories) {
    gaps.push_back({to_string(category), change});
  }
  return gaps;
}

}  // namespace highwater
