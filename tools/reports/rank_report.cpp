#include "tools/reports/rank_report.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

json::object place_json(const RankPlace& place) {
  return {{"dp", place.dp}, {"tp", place.tp}, {"pp", place.pp}, {"cp", place.cp}};
}

std::string left_out(const RankPeaks& survey) {
  return survey.peaks.size() < survey.classes
             ? fmt::format(" ({} of {} kinds of ranks simulated; --rank all takes all)",
                           survey.peaks.size(), survey.classes)
             : "";
}

using Peaks = std::vector<RankPeak>::const_iterator;

bool has_same_figures(const RankPeak& a, const RankPeak& b) {
  return a.peak == b.peak && a.fits == b.fits;
}

/// One row for all of them, as their figures are the same.
std::vector<std::string> row_of(Peaks begin, Peaks end, bool is_limited) {
  const std::int64_t ranks = std::accumulate(
      begin, end, std::int64_t{0},
      [](std::int64_t sum, const RankPeak& each) { return sum + each.ranks.ranks; });
  const RankClass& last = std::prev(end)->ranks;
  const std::string to = std::next(begin) == end ? "" : " to " + last.what;
  return {std::to_string(begin->ranks.rank),
          std::to_string(ranks),
          begin->ranks.what + to,
          to_iec(begin->peak.allocated),
          to_iec(begin->peak.reserved),
          !is_limited   ? "-"
          : begin->fits ? "yes"
                        : "no"};
}

}  // namespace

TextTable rank_table(const RankPeaks& survey) {
  TextTable table{"Peak by rank",
                  {"rank", "ranks alike", "what", "allocated", "reserved", "fits"},
                  {},
                  {true, true, false, true, true, false}};
  if (survey.peaks.size() == 1) {
    return table;
  }
  for (auto begin = survey.peaks.begin(); begin != survey.peaks.end();) {
    const auto end = std::find_if(begin, survey.peaks.end(), [&](const RankPeak& other) {
      return !has_same_figures(other, *begin);
    });
    table.rows.push_back(row_of(begin, end, survey.is_limited));
    begin = end;
  }
  return table;
}

std::string rank_sentence(const RankPeaks& survey) {
  const RankPeak& worst = survey.peaks[survey.worst];
  if (survey.classes == 1) {
    return fmt::format("all {} ranks make the same requests; shown is rank {}\n", survey.ranks,
                       worst.ranks.rank);
  }
  if (survey.peaks.size() == 1) {
    return fmt::format("shown is rank {} of {}, of {} kinds of ranks\n", worst.ranks.rank,
                       survey.ranks, survey.classes);
  }
  const std::string why = survey.why();
  return fmt::format(
      "shown is rank {}, the worst of {}: {}{}; {:.2f} times the mean reserved{}\n",
      worst.ranks.rank, survey.ranks, worst.ranks.what, why.empty() ? "" : ", " + why,
      static_cast<double>(worst.peak.reserved.count()) / survey.mean_reserved(), left_out(survey));
}

json::array ranks_json(const RankPeaks& survey) {
  json::array ranks;
  for (std::size_t i = 0; i < survey.peaks.size(); ++i) {
    const RankPeak& each = survey.peaks[i];
    ranks.push_back({{"rank", each.ranks.rank},
                     {"ranks", each.ranks.ranks},
                     {"place", place_json(each.ranks.place)},
                     {"what", each.ranks.what},
                     {"peak", usage_bytes_json(each.peak)},
                     {"fits", survey.is_limited ? json::value(each.fits) : json::value(nullptr)},
                     {"is_worst", i == survey.worst}});
  }
  return ranks;
}

}  // namespace highwater
