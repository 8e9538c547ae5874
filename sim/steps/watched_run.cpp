#include "sim/steps/watched_run.hpp"

#include "sim/peak/blame_tracker.hpp"
#include "sim/replay/observer_group.hpp"
#include "sim/steps/growth_tracker.hpp"

namespace highwater {

WatchedRun watch_run(const RequestTrace& trace, ReplayOptions options, const Steps& steps) {
  GrowthTracker growth(trace, steps.steps);
  BlameTracker blame;
  ObserverGroup observers;
  observers.add(growth);
  observers.add(blame);
  options.observer = &observers;
  options.listener = &observers;
  options.decisions = DecisionDetail::none;
  WatchedRun run;
  run.bar = bar_of(replay(trace, options));
  run.growth = growth_seen(trace, steps, growth);
  run.blame = blame.finish();
  return run;
}

}  // namespace highwater
