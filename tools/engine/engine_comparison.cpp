#include "tools/engine/engine_comparison.hpp"

#include <optional>
#include <utility>

#include "tools/engine/engine.hpp"

namespace highwater {
namespace {

RequestTrace run_by(EngineKind engine, TrainingPlan plan) {
  plan.engine = engine;
  return make_run(plan).trace;
}

ComparedTrace compared(const RequestTrace& trace) {
  return {&trace, phase_boundaries(trace), std::nullopt};
}

}  // namespace

EngineComparison::EngineComparison(TrainingPlan plan)
    : model(run_by(EngineKind::model, plan)),
      torch(run_by(EngineKind::torch, std::move(plan))),
      diff(diff_traces(compared(model), compared(torch), {.free_order = FreeOrder::ignored})) {}

}  // namespace highwater
