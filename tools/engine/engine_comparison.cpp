#include "tools/engine/engine_comparison.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tools/engine/engine.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

RequestTrace run_by(EngineKind engine, TrainingPlan plan) {
  plan.engine = engine;
  return make_run(plan).trace;
}

bool is_pass(const PhaseBoundary& boundary) {
  return boundary.phase == "data" || boundary.phase == "forward" || boundary.phase == "backward";
}

/// A pipeline's schedule runs passes in turn, and torch counts the one that finds out the shapes as
/// a forward pass; a loss in chunks has a backward pass for each.
bool mixes_passes(const TrainingPlan& plan) {
  return plan.parallel.pp > 1 || plan.loss.kind == LossKind::chunked;
}

/// They are one phase then.
std::vector<PhaseBoundary> with_passes_joined(std::vector<PhaseBoundary> phases) {
  for (PhaseBoundary& boundary : phases) {
    if (is_pass(boundary)) {
      boundary.phase = "schedule";
    }
  }
  const auto again =
      std::ranges::unique(phases, [](const PhaseBoundary& a, const PhaseBoundary& b) {
        return a.step == b.step && a.phase == b.phase;
      });
  phases.erase(again.begin(), again.end());
  return phases;
}

ComparedTrace compared(const RequestTrace& trace, const TrainingPlan& plan) {
  std::vector<PhaseBoundary> phases = phase_boundaries(trace);
  return {&trace, mixes_passes(plan) ? with_passes_joined(std::move(phases)) : std::move(phases),
          std::nullopt};
}

}  // namespace

EngineComparison::EngineComparison(TrainingPlan plan)
    : model(run_by(EngineKind::model, plan)),
      torch(run_by(EngineKind::torch, plan)),
      diff(diff_traces(compared(model, plan), compared(torch, plan),
                       {.free_order = FreeOrder::ignored})) {}

}  // namespace highwater
