#include "tools/studies/sweep_run.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/replay/sweep.hpp"
#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

using Choice = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMostRuns = 100'000;

/// Combination `number` of the cross product, the last axis varying fastest.
std::vector<std::size_t> digits(std::size_t number, const std::vector<SweepAxis>& axes) {
  std::vector<std::size_t> chosen(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    chosen[a] = number % axes[a].values.size();
    number /= axes[a].values.size();
  }
  return chosen;
}

std::size_t combinations(const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.values.size();
    if (count > kMostRuns) {
      throw UsageError("--set: more than 100000 combinations; omit some values");
    }
  }
  return count;
}

/// The order in which values are applied: the version determines how settings are parsed, and the
/// capacity is what a fraction is a share of.
int precedence(AxisKind kind) {
  return kind == AxisKind::torch ? 0 : kind == AxisKind::memory_fraction ? 2 : 1;
}

/// The most bytes of activations at the peak of any phase.
Bytes most_activations(const PhasePeaks& peaks) {
  Bytes most;
  for (const PhasePeak& phase : peaks.phases) {
    most = std::max(most, phase.at_peak.of(Category::activation));
  }
  return most;
}

bool knows_phases(const Workload& workload) {
  return workload.is_plan() || tells_phases(*workload.trace);
}

/// Where the peak lies, and how far activations went. @pre the workload knows its phases
void tell_peak(const Workload& workload, const MomentObserver& moments, SweepRun& run) {
  if (const auto peak = moments.find(MomentKind::peak_reserved)) {
    run.place = place_of(*peak, *workload.trace);
  }
  if (workload.is_plan()) {
    run.activations = most_activations(workload.simulation->peaks);
  }
}

class SweepBuilder {
 public:
  SweepBuilder(Sweep& sweep, std::vector<SweepAxis> axes, const PlanMaker& make_plan)
      : sweep_(&sweep), axes_(std::move(axes)), make_plan_(&make_plan) {}

  void run() {
    const std::size_t count = combinations(axes_);
    sweep_->runs.resize(count);
    std::map<Choice, std::vector<std::size_t>> by_plan;
    for (std::size_t i = 0; i < count; ++i) {
      by_plan[describe(i)].push_back(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<void>(point_of(i, sweep_->workload));  // wrong values throw before any long work
    }
    const ProgressLine progress(count, "replays");
    for (const auto& [plan, members] : by_plan) {
      run_group(plan, members, progress);
    }
  }

 private:
  /// Names the values of run `i`; returns those that are options of the plan.
  Choice describe(std::size_t i) {
    Choice plan;
    const std::vector<std::size_t> chosen = digits(i, axes_);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      std::pair<std::string, std::string> entry{axes_[a].key, axes_[a].values[chosen[a]]};
      if (axes_[a].kind == AxisKind::plan) {
        plan.push_back(entry);
      }
      sweep_->runs[i].set.push_back(std::move(entry));
    }
    return plan;
  }

  [[nodiscard]] SweepPoint point_of(std::size_t i, const Workload& workload) const {
    SweepPoint point{workload.options, workload.replay};
    point.is_limit_shown = workload.is_limit_shown();
    point.shown.result = ReplayResult();
    point.shown.fidelity.reset();
    const std::vector<std::size_t> chosen = digits(i, axes_);
    for (int turn = 0; turn <= 2; ++turn) {
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        if (precedence(axes_[a].kind) == turn) {
          apply(axes_[a], axes_[a].values[chosen[a]], point);
        }
      }
    }
    point.shown.settings = point.options.settings;
    point.shown.version = point.options.version;
    point.shown.memory_limit = point.options.memory_limit;
    return point;
  }

  void run_group(const Choice& plan, const std::vector<std::size_t>& members,
                 const ProgressLine& progress) {
    if (plan.empty()) {
      replay_members(sweep_->workload, members, progress);
      return;
    }
    try {
      replay_members((*make_plan_)(plan), members, progress);
    } catch (const UsageError& error) {
      for (const std::size_t i : members) {
        sweep_->runs[i].problem = error.what();
      }
      finished_ += members.size();
    }
  }

  void replay_members(const Workload& workload, const std::vector<std::size_t>& members,
                      const ProgressLine& progress) {
    std::vector<SweepPoint> points;
    std::vector<ReplayOptions> options;
    for (const std::size_t i : members) {
      points.push_back(point_of(i, workload));
      options.push_back(points.back().options);
    }
    const bool tells_place = knows_phases(workload);
    std::vector<MomentObserver> observers(tells_place ? options.size() : 0);
    for (std::size_t m = 0; m < observers.size(); ++m) {
      options[m].observer = &observers[m];
    }
    std::vector<ReplayResult> results =
        sweep(*workload.trace, options, [&](std::size_t done) { progress.show(finished_ + done); });
    finished_ += members.size();
    for (std::size_t m = 0; m < members.size(); ++m) {
      SweepRun& run = sweep_->runs[members[m]];
      run.replay = std::move(points[m].shown);
      run.replay.result = std::move(results[m]);
      if (tells_place) {
        tell_peak(workload, observers[m], run);
      }
    }
  }

  Sweep* sweep_;
  std::vector<SweepAxis> axes_;
  const PlanMaker* make_plan_;
  std::size_t finished_ = 0;
};

double relative(Bytes value, Bytes base) {
  const auto as_double = [](Bytes bytes) { return static_cast<double>(bytes.count()); };
  return base == Bytes{0} ? 0 : as_double(value) / as_double(base) - 1;
}

}  // namespace

std::vector<std::size_t> Sweep::ranking() const {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const SweepRun& run = runs[i];
    return std::tuple(run.problem.has_value(), run.ran_out(), run.replay.result.peak.reserved,
                      run.device_calls(), run.replay.result.counts.alloc_retries);
  });
  return order;
}

Sweep run_sweep(Workload workload, std::vector<SweepAxis> axes, const PlanMaker& make_plan) {
  Sweep result;
  result.workload = std::move(workload);
  result.base.replay = result.workload.replay;
  result.base.replay.fidelity.reset();
  MomentObserver moments;
  ReplayOptions options = result.workload.options;
  const bool tells_place = knows_phases(result.workload);
  options.observer = tells_place ? &moments : nullptr;
  result.base.replay.result = replay(*result.workload.trace, options);
  if (tells_place) {
    tell_peak(result.workload, moments, result.base);
  }
  SweepBuilder(result, std::move(axes), make_plan).run();
  for (SweepRun& run : result.runs) {
    run.gain = relative(run.replay.result.peak.reserved, result.base.replay.result.peak.reserved);
  }
  return result;
}

}  // namespace highwater
