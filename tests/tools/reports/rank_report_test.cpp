// Ranks beside each other: one, neighbours that are alike, and one that stands out.
#include "tools/reports/rank_report.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tools/reports/rank_members.hpp"

using namespace highwater;
using namespace highwater::literals;
using Catch::Matchers::Contains;

namespace {

RankPeak peak_of(int rank, std::int64_t ranks, const std::string& what, Bytes reserved,
                 bool fits = true) {
  RankPeak peak;
  peak.ranks.rank = rank;
  peak.ranks.ranks = ranks;
  peak.ranks.what = what;
  peak.peak.reserved = reserved;
  peak.fits = fits;
  peak.reserved_without_limit = reserved;
  return peak;
}

RankPeaks survey_of(std::vector<RankPeak> peaks, std::size_t worst) {
  RankPeaks survey;
  for (const RankPeak& each : peaks) {
    survey.ranks += each.ranks.ranks;
  }
  survey.classes = peaks.size();
  survey.peaks = std::move(peaks);
  survey.worst = worst;
  return survey;
}

/// "rank ranks what fits", a line for each row.
std::string rows_of(const RankPeaks& survey) {
  std::string text;
  for (const auto& row : rank_table(survey).rows) {
    text += to_text(row[0]) + " " + to_text(row[1]) + " " + to_text(row[2]) + " " +
            to_text(row[5]) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("ranks: ranks that are all alike are described in one sentence, without a table",
          "[reports][ranks]") {
  const RankPeaks survey = survey_of({peak_of(0, 8, "", 1_GiB)}, 0);
  CHECK(rank_table(survey).rows.empty());
  CHECK(rank_sentence(survey) == "all 8 ranks make the same requests; showing rank 0\n");
}

TEST_CASE("ranks: one of several kinds that was asked for", "[reports][ranks]") {
  RankPeaks survey = survey_of({peak_of(5, 2, "stage 1 of 2", 1_GiB)}, 0);
  survey.classes = 3;
  survey.ranks = 8;
  CHECK(rank_sentence(survey) == "showing rank 5 of 8, of 3 kinds of ranks\n");
}

TEST_CASE("ranks: neighbours with the same figures are one row, others are not",
          "[reports][ranks]") {
  RankPeaks survey = survey_of({peak_of(0, 2, "a", 2_GiB), peak_of(2, 3, "b", 2_GiB),
                                peak_of(5, 1, "c", 3_GiB), peak_of(6, 4, "d", 2_GiB)},
                               2);
  CHECK(rows_of(survey) == "0 5 a to b -\n5 1 c -\n6 4 d -\n");
  survey.is_limited = true;
  survey.peaks[1].fits = false;
  CHECK(rows_of(survey) == "0 2 a yes\n2 3 b no\n5 1 c yes\n6 4 d yes\n");
}

TEST_CASE("ranks: the worst against the mean over all ranks that each stands for",
          "[reports][ranks]") {
  // 3 ranks of 1 GiB and 1 of 3 GiB: the mean is 1.5 GiB.
  RankPeaks survey = survey_of({peak_of(0, 3, "a", 1_GiB), peak_of(3, 1, "b", 3_GiB)}, 1);
  CHECK(rank_sentence(survey) ==
        "rank 3 of 4 (b) needs most: 3.00 GiB reserved, 2.00 times the mean\n");
  survey.classes = 7;
  CHECK_THAT(rank_sentence(survey),
             Contains("(2 of 7 kinds of ranks simulated; --rank all simulates all)"));
}

TEST_CASE("ranks: JSON says whether a rank fits only where there is a limit", "[reports][ranks]") {
  RankPeaks survey = survey_of({peak_of(0, 3, "a", 1_GiB), peak_of(3, 1, "b", 3_GiB, false)}, 1);
  CHECK(value_json(rank_lines(survey)).at(1).at("fits").is_null());
  survey.is_limited = true;
  const auto rows = value_json(rank_lines(survey)).as_array();
  CHECK(rows[0].at("fits").as_bool());
  CHECK_FALSE(rows[1].at("fits").as_bool());
  CHECK_FALSE(rows[0].at("is_worst").as_bool());
  CHECK(rows[1].at("is_worst").as_bool());
}
