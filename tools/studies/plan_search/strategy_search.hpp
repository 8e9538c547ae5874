// Which of the candidates fit, the fastest first.
//
// The time of a step is a closed model (workloads/step_time); what is simulated is memory. So the
// search goes from the fastest candidate down, each with its fastest variation, and simulates until
// as many rows fit as were asked for: no later one can be faster. A variation is not simulated if
// the least that it can need is more than there is (least_memory.hpp), or if one of its candidate
// that keeps less did not fit. Kinds of training that give up more come after all that give up
// less. Programs that divide a job in the same way are one row, of the fastest of them.
//
// A trial simulates a part of the job first, and the whole where the part fits (memory_trial.hpp),
// so that a row's peak is what `simulate` says of its plan; if the whole does not fit, the search
// goes on with the candidate's next variation. Whoever has nothing else to do carries out the
// trials that may come next (trial_pieces.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/studies/plan_search/trial_pieces.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

struct StrategyResult {
  const StrategyRow* strategy = nullptr;
  std::size_t kind = 0;  ///< of training
  TrainingPlan plan;
  StepTime time;
  Bytes capacity;  ///< what the allocator can have
  Bytes peak;      ///< most reserved by a rank in the whole job
  bool fits = false;
  std::optional<Variation> refused;    ///< its fastest variation that does not fit
  std::vector<std::string_view> also;  ///< other strategies that divide the job in this way

  /// LLMem's score of Algorithm 1 (arXiv 2404.10933): the batch times the data-parallel ranks.
  [[nodiscard]] std::int64_t llmem_score() const { return plan.batch * plan.parallel.dp; }
};

struct StrategySearch {
  std::vector<StrategyResult> results;  ///< those that fit, or if none does some that need least
  std::vector<std::string> left_out;
  std::size_t candidates = 0;  ///< strategies with a layout
  std::size_t variations = 0;
  std::size_t simulated = 0;  ///< variations
  std::int64_t global_batch = 0;

  [[nodiscard]] bool found() const { return !results.empty() && results.front().fits; }
};

/// On the threads of this process.
StrategySearch search_strategies(const SearchRequest& request);

/// The same; a trial is a piece. A shard finds the rows of its own candidates.
StrategySearch search_strategies(const SearchRequest& request, Fleet& fleet);

}  // namespace highwater
