#include "tools/studies/sweep/sweep_points.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "sim/replay/phase_peaks.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr int kLastTurn = 3;

/// The order in which values are applied: the version determines how settings are parsed, single
/// ones change the whole, and the capacity is what a fraction is a share of.
int precedence(AxisKind kind) {
  switch (kind) {
    case AxisKind::torch:
      return 0;
    case AxisKind::all_settings:
      return 1;
    case AxisKind::memory_fraction:
      return kLastTurn;
    default:
      return 2;
  }
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
  shown.own_settings_error = replay.own_settings_error;
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

/// With the value of the batch axis.
PointBound with_batch(PointBound bound, const SweepChoice& set) {
  SweepRun run;
  run.set = set;
  bound.batch = run.batch();
  return bound;
}

SweepCounts counted(const PointBound& bound) {
  return {.all = 1,
          .out_of_memory = bound.outcome == KnownOutcome::out_of_memory ? 1U : 0U,
          .impossible = 0,
          .ruled_out = 1};
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

SweepPoints::SweepPoints(const Sweep& sweep, const SweepGrid& grid, const PlanMaker& make_plan,
                         const PlanOutliner& outline)
    : sweep_(&sweep), grid_(&grid), outline_(&outline), plans_(make_plan) {}

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
  for (int turn = 0; turn <= kLastTurn; ++turn) {
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      const SweepAxis& axis = grid_->axes()[a];
      if (precedence(axis.kind) == turn) {
        apply(axis, axis.values[chosen[a]], result);
      }
    }
  }
}

SweepPoint SweepPoints::at(std::uint64_t point, const Workload& workload) const {
  return chosen(point, origin_of(workload));
}

SweepPoint SweepPoints::chosen(std::uint64_t point, SweepPoint result) const {
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

bool SweepPoints::sweeps_limits() const {
  return std::ranges::any_of(grid_->axes(), [](const SweepAxis& axis) {
    return axis.kind == AxisKind::capacity || axis.kind == AxisKind::memory_limit ||
           axis.kind == AxisKind::memory_fraction;
  });
}

/// nullptr: the workload's own.
std::shared_ptr<const SweptPlan> SweepPoints::plan_at(std::uint64_t point) const {
  const SweepChoice choice = grid_->plan_choice(point);
  if (choice.empty()) {
    return nullptr;
  }
  std::shared_ptr<const SweptPlan> plan = plans_.get(choice);
  if (!plan->problem.empty() && !has_plan_axis()) {
    throw UsageError(plan->problem);  // an edit that the file lacks something for
  }
  return plan;
}

/// Of several ranks the one that is replayed is chosen under the plan's own limits, so that the
/// bound of the neediest says nothing about it under others.
std::optional<PlanOutline> SweepPoints::outline_at(std::uint64_t point) const {
  SweepChoice choice = grid_->plan_choice(point);
  const bool is_edited = std::ranges::any_of(
      choice, [](const auto& entry) { return entry.first == kEditKey && entry.second != kNoEdit; });
  std::erase_if(choice, [](const auto& entry) { return entry.first == kEditKey; });
  if (choice.empty() || is_edited || !*outline_) {
    return std::nullopt;
  }
  std::optional<PlanOutline> outline = (*outline_)(choice);
  return outline && outline->gpus > 1 && sweeps_limits() ? std::nullopt : outline;
}

PointBound SweepPoints::bound_at(std::uint64_t point, const SweptPlan* plan) const {
  const Workload& workload = plan != nullptr ? plan->workload : sweep_->workload;
  const SweepPoint what = at(point, workload);
  LeastReserved& least = plan != nullptr ? plan->least : least_;
  return with_batch(bound_of(what, least.of(*workload.trace, what.options.settings)),
                    grid_->choice(point));
}

PointBound SweepPoints::bound_at(std::uint64_t point, const PlanOutline& outline) const {
  const SweepPoint what = chosen(point, {outline.options, outline.shown});
  return with_batch(bound_of(what, outline.least), grid_->choice(point));
}

std::vector<std::uint64_t> SweepPoints::promising(std::size_t most) const {
  constexpr std::uint64_t kMostLookedAt = 4096;
  const std::uint64_t step = (grid_->points() + kMostLookedAt - 1) / kMostLookedAt;
  std::vector<std::pair<PointBound, std::uint64_t>> known;
  std::map<SweepChoice, std::optional<PlanOutline>> outlines;
  for (std::uint64_t point = 0; point < grid_->points(); point += step) {
    const SweepChoice choice = grid_->plan_choice(point);
    if (choice.empty()) {
      known.emplace_back(bound_at(point, nullptr), point);
      continue;
    }
    const auto [found, is_new] = outlines.try_emplace(choice);
    if (is_new) {
      found->second = outline_at(point);
    }
    known.emplace_back(found->second ? bound_at(point, *found->second) : PointBound(), point);
  }
  std::ranges::stable_sort(known, {}, [](const auto& entry) {
    return std::pair(entry.first.outcome == KnownOutcome::out_of_memory, entry.first.least);
  });
  known.resize(std::min(known.size(), most));
  std::vector<std::uint64_t> points;
  std::ranges::transform(known, std::back_inserter(points),
                         [](const auto& entry) { return entry.second; });
  return points;
}

SweepRun SweepPoints::run_of(std::uint64_t point) const {
  return run_of(point, plan_at(point).get());
}

SweepRun SweepPoints::run_of(std::uint64_t point, const SweptPlan* plan) const {
  SweepRun run;
  if (plan != nullptr && !plan->problem.empty()) {
    run.point = point;
    run.set = grid_->choice(point);
    run.problem = plan->problem;
  } else {
    run = run_at(point, plan != nullptr ? plan->workload : sweep_->workload);
  }
  run.gain = relative(run.replay.result.peak.reserved, sweep_->base.replay.result.peak.reserved);
  return run;
}

PieceRuns SweepPoints::runs_of(std::uint64_t piece, const SweepBar& bar) const {
  const auto [begin, end] = grid_->stretch(piece);
  const std::optional<PlanOutline> outline =
      bar.is_set() ? outline_at(begin) : std::optional<PlanOutline>();
  std::shared_ptr<const SweptPlan> plan;
  bool is_made = false;
  PieceRuns result;
  for (std::uint64_t point = begin; point < end; ++point) {
    if (bar.has(point)) {
      continue;
    }
    PointBound bound = outline ? bound_at(point, *outline) : PointBound();
    if (!bar.rules_out(bound)) {
      plan = is_made ? plan : plan_at(begin);
      is_made = true;
      const bool is_possible = plan == nullptr || plan->problem.empty();
      bound = bar.is_set() && is_possible ? bound_at(point, plan.get()) : PointBound();
    }
    if (bar.rules_out(bound)) {
      result.ruled_out.add(counted(bound));
    } else {
      result.runs.push_back(run_of(point, plan.get()));
    }
  }
  return result;
}

}  // namespace highwater
