// The memory of all ranks of a job: one simulation for each class of ranks that make the same
// requests, on all cores. Traces are dropped as soon as they have been replayed, so memory does not
// grow with the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/live_categories.hpp"
#include "sim/replay/replay_result.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/value_search.hpp"
#include "workloads/plan/parallel_kinds.hpp"
#include "workloads/training/ranks.hpp"

namespace highwater {

struct PlannedRun;

/// Which ranks --rank asks for.
struct RankChoice {
  enum class Kind : std::uint8_t { one, representative, all };

  Kind kind = Kind::representative;
  int rank = 0;  ///< of Kind::one
};

/// A class of ranks and its peaks.
struct RankPeak {
  RankClass ranks;
  Usage peak;
  CategoryBytes at_peak;  ///< when most was allocated
  bool fits = true;
  Bytes reserved_without_limit;    ///< the peak of reserved, had memory been unlimited
  std::optional<Bytes> available;  ///< to the allocator; absent: unlimited
};

struct RankPeaks {
  std::vector<RankPeak> peaks;  ///< in order of rank
  std::size_t worst = 0;        ///< index into peaks: out of memory first, then by what is needed
  std::size_t classes = 0;      ///< of the job; more than were simulated if some were left out
  std::int64_t ranks = 0;       ///< of the job
  bool is_limited = false;      ///< there is a memory to fit in
  DataParallel dp_kind = DataParallel::ddp;

  /// Mean over the ranks that `peaks` stand for of what each would reserve with unlimited memory,
  /// bytes.
  [[nodiscard]] double mean_reserved() const;

  /// What the worst rank holds more of than the others on average: "1.20 GiB more activations than
  /// the mean rank"; empty if all are equivalent.
  [[nodiscard]] std::string why() const;
};

/// On the threads of this process. @pre plan_problems(run.plan) is empty; the rank of Kind::one
/// exists
RankPeaks simulate_ranks(const PlannedRun& run, const MemoryRequest& memory, RankChoice choice);

/// The same; a class of ranks is a piece. Without peaks where another process prints the answer.
RankPeaks simulate_ranks(const PlannedRun& run, const MemoryRequest& memory, RankChoice choice,
                         Fleet& fleet);

/// The largest batch with which all chosen ranks fit; a class of ranks of one trial is a piece.
/// @pre the memory is limited by a GPU, a capacity or a limit
ValueSearch find_largest_batch(PlannedRun run, const MemoryRequest& memory, RankChoice choice,
                               Fleet& fleet);

}  // namespace highwater
