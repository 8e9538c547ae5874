// Which of the candidates fit, with which batch, and in which order they are worth trying.
//
// Each candidate's largest batch is found by simulating its representative ranks; one that keeps
// more activations than another that does not fit is skipped. Those that fit are ordered by
// sequences per second (workloads/step_time.hpp), the fastest first; LLMem's score, the batch times
// the data-parallel ranks of Algorithm 1 (arXiv 2404.10933), is listed as well.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/studies/plan_search/strategy_candidates.hpp"
#include "tools/studies/rank_peaks.hpp"

namespace highwater {

/// A candidate with its largest batch.
struct StrategyResult {
  Candidate candidate;  ///< its plan has the largest batch, 1 if none fits
  BatchSearch batches;
  Bytes capacity;                   ///< what the allocator can have
  Bytes peak;                       ///< most reserved by a rank, at that batch
  double sequences_per_second = 0;  ///< 0 if nothing fits
  std::int64_t llmem_score = 0;

  [[nodiscard]] bool fits() const { return batches.largest.has_value(); }
};

struct StrategySearch {
  std::vector<StrategyResult> results;  ///< those that fit first, fastest first
  std::vector<std::string> left_out;
  std::size_t dominated = 0;  ///< skipped because of results of others in their group
};

/// Searches all candidates for `base` on `gpus` GPUs. `device` is all of one GPU's memory.
StrategySearch search_strategies(const PlannedRun& base, const MemoryRequest& memory, Bytes device,
                                 int gpus);

}  // namespace highwater
