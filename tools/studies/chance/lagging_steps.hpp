// The steps of a plan whose events of other streams complete later in some runs than in others: a
// source for each lag, made and tried when the first run has it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "tools/studies/chance/plan_steps.hpp"

namespace highwater {

class LaggingSteps : public PieceSource {
 public:
  using Make = std::function<std::unique_ptr<PlanSteps>(std::int64_t lag)>;

  explicit LaggingSteps(Make make) : make_(std::move(make)) {}

  PiecePtr before_steps(const StepDraw& draw) override { return at(draw.lag).before_steps(draw); }

  void add_pieces(std::size_t step, const StepDraw& draw, std::vector<PiecePtr>& pieces) override {
    at(draw.lag).add_pieces(step, draw, pieces);
  }

  /// The source of all runs with this lag.
  PlanSteps& at(std::int64_t lag) {
    const std::lock_guard guard(lock_);
    auto& steps = by_lag_[lag];
    if (!steps) {
      steps = make_(lag);
    }
    return *steps;
  }

 private:
  Make make_;
  std::mutex lock_;
  std::map<std::int64_t, std::unique_ptr<PlanSteps>> by_lag_;
};

}  // namespace highwater
