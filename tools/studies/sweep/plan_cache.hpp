// The plans of a sweep, made once each, though several threads ask for one at the same time.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "tools/studies/sweep/sweep_grid.hpp"
#include "tools/studies/workload.hpp"

namespace highwater {

/// Makes the plan's workload with some options set anew. @throws UsageError when it cannot be
using PlanMaker = std::function<Workload(const SweepChoice& options)>;

/// A plan, or why there is none.
struct SweptPlan {
  Workload workload;
  std::string problem;  ///< empty: there is one
};

/// Keeps the plans that were asked for last, up to a size: points next to each other share theirs.
class PlanCache {
 public:
  explicit PlanCache(const PlanMaker& make) : make_(&make) {}

  std::shared_ptr<const SweptPlan> get(const SweepChoice& choice);

 private:
  using Plan = std::shared_future<std::shared_ptr<const SweptPlan>>;

  struct Entry {
    SweepChoice choice;
    Plan plan;
  };

  [[nodiscard]] std::shared_ptr<const SweptPlan> made(const SweepChoice& choice) const;
  void forget_old();

  const PlanMaker* make_;
  std::mutex mutex_;
  std::list<Entry> entries_;  ///< the last asked for first
};

}  // namespace highwater
