#include "tools/studies/sweep/sweep_points.hpp"

#include <algorithm>

namespace highwater {
namespace {

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

double relative(Bytes value, Bytes base) {
  const auto as_double = [](Bytes bytes) { return static_cast<double>(bytes.count()); };
  return base == Bytes{0} ? 0 : as_double(value) / as_double(base) - 1;
}

/// Without what was found, which may be large.
DeviceReplay without_result(const DeviceReplay& replay) {
  DeviceReplay shown;
  shown.device = replay.device;
  shown.derivation = replay.derivation;
  shown.settings = replay.settings;
  shown.version = replay.version;
  shown.later_torch = replay.later_torch;
  shown.torch_detected = replay.torch_detected;
  shown.capacity = replay.capacity;
  shown.memory_limit = replay.memory_limit;
  shown.memory_fraction = replay.memory_fraction;
  shown.events_read = replay.events_read;
  shown.events_dropped = replay.events_dropped;
  shown.truncated = replay.truncated;
  shown.profiled = replay.profiled;
  shown.notes = replay.notes;
  shown.stream_handles = replay.stream_handles;
  return shown;
}

/// More points than that are checked by the values of their axes alone.
constexpr std::uint64_t kMostChecked = 100'000;

}  // namespace

bool knows_phases(const Workload& workload) {
  return workload.is_plan() || tells_phases(*workload.trace);
}

void tell_peak(const Workload& workload, const MomentObserver& moments, SweepRun& run) {
  if (const auto peak = moments.find(MomentKind::peak_reserved)) {
    run.place = place_of(*peak, *workload.trace);
  }
  if (workload.is_plan()) {
    run.activations = most_activations(workload.simulation->peaks);
  }
}

SweepPoints::SweepPoints(const Sweep& sweep, const SweepGrid& grid, const PlanMaker& make_plan)
    : sweep_(&sweep), grid_(&grid), plans_(make_plan) {}

/// The first and the last values of all other axes stand for the rest where there are too many.
void SweepPoints::check_values() const {
  if (grid_->points() <= kMostChecked) {
    for (std::uint64_t point = 0; point < grid_->points(); ++point) {
      static_cast<void>(at(point, sweep_->workload));
    }
    return;
  }
  std::uint64_t step = 1;
  for (std::size_t a = grid_->axes().size(); a-- > 0;) {
    const std::uint64_t values = grid_->axes()[a].values.size();
    for (std::uint64_t value = 0; value < values; ++value) {
      static_cast<void>(at(value * step, sweep_->workload));
      static_cast<void>(at(grid_->points() - 1 - value * step, sweep_->workload));
    }
    step *= values;
  }
}

bool SweepPoints::has_plan_axis() const {
  return std::ranges::count(grid_->axes(), AxisKind::plan, &SweepAxis::kind) != 0;
}

SweepPoint SweepPoints::origin_of(const Workload& workload) const {
  SweepPoint point{workload.options, without_result(workload.replay)};
  point.is_limit_shown = workload.is_limit_shown();
  return point;
}

void SweepPoints::apply_choice(std::uint64_t point, SweepPoint& result) const {
  const std::vector<std::size_t> chosen = grid_->digits(point);
  for (int turn = 0; turn <= 2; ++turn) {
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      const SweepAxis& axis = grid_->axes()[a];
      if (precedence(axis.kind) == turn) {
        apply(axis, axis.values[chosen[a]], result);
      }
    }
  }
}

SweepPoint SweepPoints::at(std::uint64_t point, const Workload& workload) const {
  SweepPoint result = origin_of(workload);
  apply_choice(point, result);
  result.shown.settings = result.options.settings;
  result.shown.version = result.options.version;
  result.shown.memory_limit = result.options.memory_limit;
  return result;
}

SweepRun SweepPoints::run_at(std::uint64_t point, const Workload& workload) const {
  SweepPoint what = at(point, workload);
  MomentObserver moments;
  const bool tells_place = knows_phases(workload);
  what.options.observer = tells_place ? &moments : nullptr;
  SweepRun run;
  run.point = point;
  run.set = grid_->choice(point);
  run.replay = std::move(what.shown);
  run.replay.result = replay(*workload.trace, what.options);
  run.replay.result.map = {};
  run.replay.result.timeline = Timeline(0);
  if (tells_place) {
    tell_peak(workload, moments, run);
  }
  return run;
}

std::vector<SweepRun> SweepPoints::runs_of(std::uint64_t piece) const {
  const auto [begin, end] = grid_->stretch(piece);
  const SweepChoice choice = grid_->plan_choice(begin);
  const std::shared_ptr<const SweptPlan> plan = choice.empty() ? nullptr : plans_.get(choice);
  if (plan && !plan->problem.empty() && !has_plan_axis()) {
    throw UsageError(plan->problem);  // an edit that the file lacks something for
  }
  const Bytes base = sweep_->base.replay.result.peak.reserved;
  std::vector<SweepRun> runs;
  for (std::uint64_t point = begin; point < end; ++point) {
    if (plan && !plan->problem.empty()) {
      SweepRun& run = runs.emplace_back();
      run.point = point;
      run.set = grid_->choice(point);
      run.problem = plan->problem;
    } else {
      runs.push_back(run_at(point, plan ? plan->workload : sweep_->workload));
    }
    runs.back().gain = relative(runs.back().replay.result.peak.reserved, base);
  }
  return runs;
}

}  // namespace highwater
