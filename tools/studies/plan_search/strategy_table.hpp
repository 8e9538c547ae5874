// The strategies that `plan` compares: programs with the axes that they can divide a job over.
//
// A strategy is a row of a table: a name, the axes it needs and those it can use, who keeps its
// fp32 states, and what it sets in the plan. A new one is a new row.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tools/studies/plan_search/layout.hpp"
#include "tools/studies/plan_search/training_kind.hpp"

namespace highwater {

struct TrainingPlan;

/// What else is particular about a strategy.
struct StrategyTraits {
  bool interleaves = false;  ///< its pipelines can give a rank several chunks
  bool is_for_mixtures = false;
  bool takes_one_micro_batch = false;  ///< no accumulation of gradients
  bool helps_one_gpu = false;          ///< saves memory where there is nobody to share with, too
};

struct StrategyRow {
  std::string_view name;
  Axes needs;  ///< each with more than one rank
  Axes can;    ///< besides
  WideStates states = WideStates::autocast;
  void (*apply)(TrainingPlan&);  ///< the axes are set before; everything else
  StrategyTraits traits = {};

  /// Whether it is tried on GPUs divided like this.
  [[nodiscard]] bool takes(const Layout& layout) const;
};

/// In the order in which equals are listed.
std::span<const StrategyRow> strategy_table();

/// The strategy that is called `name`, or all that have it in their names; all if it is empty.
std::vector<const StrategyRow*> strategies_called(std::string_view name);

}  // namespace highwater
