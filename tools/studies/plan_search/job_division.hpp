// How a job is divided over its GPUs, whatever program does it, and which divisions only add a cost
// to another one.
#pragma once

#include <cstddef>

#include "tools/studies/plan_search/candidates.hpp"
#include "tools/studies/plan_search/strategy_search.hpp"
#include "workloads/plan/gemini_options.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater {

/// What programs that divide a job alike have in common.
struct JobDivision {
  std::size_t kind = 0;  ///< of training
  int sharding = 0;      ///< what is sharded over data-parallel ranks, as ZeRO's stages count
  int dp = 1;
  int tp = 1;
  int pp = 1;
  int cp = 1;
  int ep = 1;
  int replicas = 1;
  bool has_grid = false;
  Offload offload = Offload::none;
  double offload_ratio = 1;
  OffloadDevice optimizer_device = OffloadDevice::cpu;
  GeminiPlacement placement = GeminiPlacement::cuda;

  bool operator==(const JobDivision&) const = default;
};

JobDivision division_of(const Candidate& candidate);

/// Whether `row`, which is as fast, leaves no reason to try the candidate.
bool is_needless_beside(const Candidate& candidate, const StrategyResult& row);

}  // namespace highwater
