// What a search for strategies is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/studies/plan_search/fixed_options.hpp"
#include "tools/studies/plan_search/layout.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "workloads/step_time/assumptions.hpp"

namespace highwater {

/// A share of the memory that a row leaves free. Two runs of one program differ by up to 2 %, and
/// what lies outside the allocator is an estimate (tools/docs/planning.md), so that 3 % is what
/// `simulate` calls a thin margin.
inline constexpr double kUsualMargin = 0.03;

/// What is asked of the rows.
struct SearchOptions {
  std::optional<std::int64_t> global_batch;  ///< sequences of a step
  std::string only;                          ///< part of the names of strategies; empty: all
  std::optional<std::size_t>
      most_given_up;  ///< kind of training; absent: full training, or all others
  double margin = kUsualMargin;
  std::size_t rows = 10;
  FixedOptions fixed;  ///< what is not searched
  PipelineRule pipelines = PipelineRule::any;
  TimeAssumptions assumed;
};

struct SearchRequest {
  PlannedRun run;
  MemoryRequest memory;  ///< its capacity is not used
  Bytes device;          ///< all of one GPU's memory
  int gpus = 1;
  SearchOptions options;
};

}  // namespace highwater
