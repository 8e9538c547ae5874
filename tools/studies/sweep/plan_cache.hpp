// The plans of a sweep, made once each, though several threads ask for one at the same time.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "sim/replay/least_reserved.hpp"
#include "tools/studies/runs/workload.hpp"
#include "tools/studies/sweep/sweep_grid.hpp"

namespace highwater {

/// Makes the plan's workload with some options set anew. @throws UsageError when it cannot be
using PlanMaker = std::function<Workload(const SweepChoice& options)>;

/// A plan whose requests have not been made.
struct PlanOutline {
  ReplayOptions options;
  DeviceReplay shown;  ///< settings, version and limits
  Bytes least;         ///< bytes that it holds at a time at least
  int gpus = 1;
};

/// Absent where nothing is known of the plan with these options set anew, or it cannot be.
using PlanOutliner = std::function<std::optional<PlanOutline>(const SweepChoice& options)>;

/// The plans of a sweep.
struct SweptPlans {
  PlanMaker make;
  PlanOutliner outline;
};

/// A plan, or why there is none.
struct SweptPlan {
  Workload workload;
  std::string problem;               ///< empty: there is one
  mutable LeastReserved least = {};  ///< of its requests
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
