// In what the ranks of a job differ, and why: between its pipeline stages, and between the ranks of
// the stage that needs most.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/studies/runs/rank_peaks.hpp"

namespace highwater {

/// The rank that needs most beside the one that needs least, of those that differ in one thing.
struct RankGap {
  std::string between;  ///< "pipeline stages", "ranks of stage 0"
  RankPeak most;
  RankPeak least;
  /// Categories of what is allocated at the peak of which the first has more, or less (negative),
  /// the largest difference first.
  std::vector<std::pair<Category, std::int64_t>> categories;
  std::string cause;  ///< "8 layers beside 7, the embedding"

  [[nodiscard]] Bytes bytes() const {
    return most.reserved_without_limit - least.reserved_without_limit;
  }
};

/// Between stages, each by its rank that needs most, and within the first of these; what does not
/// differ is left out.
std::vector<RankGap> rank_imbalance(const RankPeaks& survey);

}  // namespace highwater
