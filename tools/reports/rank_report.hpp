// The ranks of a job beside each other: as a table, a sentence, and JSON.
#pragma once

#include <string>

#include "tools/studies/runs/rank_peaks.hpp"
#include "tools/text/table.hpp"

namespace highwater {

/// One row per class of ranks, one for neighbours whose figures are the same; no rows if all ranks
/// are alike.
Table rank_table(const RankPeaks& survey);

/// In what the ranks differ most: a row between stages, one between the ranks of the worst stage.
Table imbalance_table(const RankPeaks& survey);

/// Which rank is the worst, why, and how uneven the job is.
std::string rank_sentence(const RankPeaks& survey);

}  // namespace highwater
