// A plan carried out by both engines: the same requests, or the first that differs.
#pragma once

#include "sim/diff/trace_diff.hpp"
#include "traces/request_trace.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

struct EngineComparison {
  /// @throws InputError
  explicit EngineComparison(TrainingPlan plan);
  EngineComparison(const EngineComparison&) = delete;
  EngineComparison& operator=(const EngineComparison&) = delete;
  ~EngineComparison() = default;

  RequestTrace model;
  RequestTrace torch;
  TraceDiff diff;  ///< refers to both traces
};

}  // namespace highwater
