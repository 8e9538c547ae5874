#include "tools/studies/sweep/plan_cache.hpp"

#include <algorithm>
#include <chrono>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// Events of all traces that are kept, 32 bytes each.
constexpr std::size_t kMostEvents = std::size_t{8} << 20;

bool is_ready(const std::shared_future<std::shared_ptr<const SweptPlan>>& plan) {
  return plan.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::size_t events_of(const SweptPlan& plan) {
  return plan.workload.trace ? plan.workload.trace->events.size() : 0;
}

}  // namespace

std::shared_ptr<const SweptPlan> PlanCache::get(const SweepChoice& choice) {
  std::promise<std::shared_ptr<const SweptPlan>> promise;
  Plan plan;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, choice, &Entry::choice);
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      plan = found->plan;
    } else {
      entries_.push_front({choice, promise.get_future().share()});
      forget_old();
    }
  }
  if (plan.valid()) {
    return plan.get();
  }
  try {
    auto result = made(choice);
    promise.set_value(result);
    return result;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::shared_ptr<const SweptPlan> PlanCache::made(const SweepChoice& choice) const {
  auto plan = std::make_shared<SweptPlan>();
  try {
    plan->workload = (*make_)(choice);
  } catch (const UsageError& error) {
    plan->problem = error.what();
  }
  return plan;
}

/// Impossible plans are small and many: a bound on their number, too.
void PlanCache::forget_old() {
  constexpr std::size_t kMostEntries = 256;
  std::size_t events = 0;
  std::size_t count = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool is_made = is_ready(entry->plan);
    try {
      events += is_made ? events_of(*entry->plan.get()) : 0;
    } catch (...) {  // could not be made: whoever asked for it has been told
    }
    ++count;
    entry = is_made && (events > kMostEvents || count > kMostEntries) ? entries_.erase(entry)
                                                                      : std::next(entry);
  }
}

}  // namespace highwater
