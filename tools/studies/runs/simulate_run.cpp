#include "tools/studies/runs/simulate_run.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/peak/live_blocks.hpp"
#include "sim/replay/compact_replay.hpp"
#include "sim/settings/smallest_limit.hpp"
#include "tools/engine/engine.hpp"
#include "tools/studies/runs/recording_check.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/parameters.hpp"

namespace highwater {
namespace {

/// Forwards to the phase peaks and to the moments: the highest allocated and the failure.
class SimulationObserver : public ReplayObserver {
 public:
  explicit SimulationObserver(const RequestTrace& trace) : trace_(&trace), phases_(trace) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    moments_.on_begin(allocator, driver);
  }

  void on_event(const Event& event, AllocationStatus status,
                const Statistics& statistics) override {
    phases_.on_event(event, status, statistics);
    moments_.on_event(event, status, statistics);
  }

  void finish(Simulation& simulation) {
    simulation.peaks = phases_.finish();
    simulation.at_peak = moments_.find(MomentKind::peak_allocated).value_or(Moment{});
    simulation.peak_place = place_of(simulation.at_peak, *trace_);
    simulation.failure = moments_.find(MomentKind::out_of_memory);
    simulation.failure_place =
        simulation.failure ? place_of(*simulation.failure, *trace_) : PeakPlace{};
  }

 private:
  const RequestTrace* trace_;
  PhasePeakTracker phases_;
  MomentObserver moments_;
};

std::vector<SiteHolder> holders_at(const RequestTrace& trace, std::size_t event) {
  HolderSums<Site> sums;
  for (const StackHolder& holder : live_at(trace, event).holders) {
    Site site = site_of(trace.tables, holder.origin);
    site.module = without_indices(site.module);
    sums.add(site, holder.held, holder.blocks);
  }
  return sums.largest_first();
}

void set_memory(const PlannedRun& run, const MemoryRequest& memory, Simulation& simulation) {
  const Gpu& gpu = run.plan.gpu;
  DeviceReplay& replay = simulation.replay;
  if (memory.capacity) {
    replay.capacity = memory.capacity;
    simulation.available = memory.capacity;
  } else if (run.gpu_named) {
    replay.capacity = gpu.total_memory;
    simulation.available = memory_for_allocator(gpu, run.plan);
  }
  replay.memory_limit = memory.memory_limit;
  replay.memory_fraction = memory.memory_fraction;
}

/// Absent is more than any.
std::optional<Bytes> smaller(std::optional<Bytes> a, std::optional<Bytes> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// Fills in the results of the replay. Returns the options under which it ran.
ReplayOptions replay_plan(const RequestTrace& trace, Simulation& simulation) {
  SimulationObserver observer(trace);
  ReplayOptions options = replay_options(simulation);
  options.observer = &observer;
  DeviceReplay& replay = simulation.replay;
  replay.result = highwater::replay(trace, options);
  replay.events_read = trace.events.size();
  replay.stream_handles = trace.stream_handles;
  observer.finish(simulation);
  simulation.available = smaller(options.capacity, options.memory_limit);
  options.observer = nullptr;
  if (simulation.failure) {
    simulation.without_limit = highwater::replay(trace, with_memory(options, std::nullopt)).peak;
  }
  return options;
}

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

/// Steps that show the steady state and each length of a sequence.
int steps_to_try(const TrainingPlan& plan) {
  constexpr int kSteady = 3;
  const int with_lengths = static_cast<int>(plan.seq.size()) / plan.grad_accum;
  return std::min(plan.steps, std::max(kSteady, with_lengths));
}

/// Kernels, and with them blocks, differ between GPUs, so the plan is simulated on each; but not
/// thirty times by torch, where the requests that are there are tried with each one's memory.
std::shared_ptr<const RequestTrace> requests_on(const TrainingPlan& plan,
                                                const Simulation& simulation) {
  return plan.engine == EngineKind::torch
             ? simulation.trace
             : std::make_shared<const RequestTrace>(make_run(plan).trace);
}

bool runs_on(const Gpu& gpu, const Simulation& simulation) {
  Simulation trial;
  trial.plan = simulation.plan;
  trial.plan.gpu = gpu;
  trial.plan.device_room.reset();
  trial.plan.steps = steps_to_try(trial.plan);
  if (!plan_problems(trial.plan).empty()) {
    return false;
  }
  trial.replay.settings = simulation.replay.settings;
  trial.replay.version = simulation.replay.version;
  trial.available = memory_for_allocator(gpu, trial.plan);
  replay_plan(*requests_on(trial.plan, simulation), trial);
  return trial.fits();
}

/// Where what is empty is more than a hundredth of the peak.
void note_empty_buckets(Simulation& simulation) {
  if (simulation.buckets && simulation.buckets->empty(simulation.buckets->chosen).count() * 100 >
                                simulation.whole_peak().reserved.count()) {
    simulation.replay.notes.push_back(describe_empty(*simulation.buckets));
  }
}

}  // namespace

namespace {

/// What the recording held beyond its plan, or saved against it, where the same share of this run
/// decides whether it fits.
std::optional<LeftOutKey> unexplained_share(const Simulation& simulation) {
  const RecordingCheck* const check = simulation.recording.get();
  if (check == nullptr || check->is_explained() || !simulation.available) {
    return std::nullopt;
  }
  const double as_recorded =
      static_cast<double>(simulation.whole_peak().reserved.count()) / (1 + check->reserved_error());
  const bool would_fit = as_recorded <= static_cast<double>(simulation.available->count());
  if (would_fit == simulation.fits() && check->recorded_oom == check->simulated_oom) {
    return std::nullopt;
  }
  return simulation.fits()
             ? LeftOutKey{"what the recording held beyond its plan", MemorySign::more}
             : LeftOutKey{"what the recording saved against its plan", MemorySign::less};
}

}  // namespace

std::vector<LeftOutKey> Simulation::undecided() const {
  std::vector<LeftOutKey> keys = turning_keys(outcome_of(*this), left_out);
  if (auto share = unexplained_share(*this)) {
    keys.push_back(std::move(*share));
  }
  return keys;
}

FitOutcome outcome_of(const Simulation& simulation) {
  return simulation.fits() ? FitOutcome::fits : FitOutcome::runs_out;
}

std::int64_t Simulation::parameters() const {
  if (plan.model.labels > 0) {
    const std::vector<ParameterInfo> all = model_parameters(plan.model);
    return std::accumulate(
        all.begin(), all.end(), std::int64_t{0},
        [](std::int64_t sum, const ParameterInfo& p) { return sum + p.elements; });
  }
  return is_other(plan.model.config) ? trainable : parameter_count(plan.model.config).trainable();
}

std::optional<Usage> Simulation::steady_peak() const {
  std::optional<Usage> steady;
  for (const StepPeak& step : peaks.steps) {
    if (step.step > 0 && step.complete) {
      steady = higher(steady.value_or(Usage{}), step.peak);
    }
  }
  return steady;
}

ReplayOptions replay_options(const Simulation& simulation) {
  const DeviceReplay& replay = simulation.replay;
  ReplayOptions options;
  options.settings = replay.settings;
  options.version = replay.version;
  options.capacity = simulation.available;
  options.memory_limit = replay.memory_limit;
  if (replay.memory_fraction && replay.capacity) {
    // A share of the device's memory, not of what the context leaves of it.
    options.memory_limit = Bytes{static_cast<std::uint64_t>(
        *replay.memory_fraction * static_cast<double>(replay.capacity->count()))};
  }
  options.after_oom = AfterOom::stop;
  return options;
}

Simulation before_requests(const PlannedRun& run, const MemoryRequest& memory) {
  Simulation simulation;
  simulation.plan = run.plan;
  simulation.plan.device_room = memory.capacity;
  simulation.left_out = run.left_out;
  simulation.releases = run.releases;
  simulation.recording = run.recording;
  simulation.is_gpu_named = run.gpu_named;
  simulation.outside = outside_memory(run.plan);
  DeviceReplay& replay = simulation.replay;
  replay.notes = run.notes;
  model_release(run.plan.versions.torch, replay);
  if (memory.alloc_conf) {
    replay.settings = settings_from_command_line(*memory.alloc_conf, *replay.version);
  }
  set_memory(run, memory, simulation);
  return simulation;
}

namespace {

/// A simulation, and what only some need of it.
struct Requested {
  Simulation simulation;
  ReplayOptions options;  ///< under which it was replayed
  std::optional<std::int64_t> trainable;
};

Requested replay_requests_of(const PlannedRun& run, const MemoryRequest& memory) {
  Requested result{before_requests(run, memory), {}, {}};
  Simulation& simulation = result.simulation;
  GeneratedRun generated = make_run(simulation.plan);
  simulation.trace = std::make_shared<RequestTrace>(std::move(generated.trace));
  simulation.host = std::move(generated.host);
  simulation.buckets = generated.buckets;
  result.trainable = generated.trainable;
  result.options = replay_plan(*simulation.trace, simulation);
  note_inactive_collection(simulation.replay);
  note_empty_buckets(simulation);
  return result;
}

}  // namespace

Simulation simulate_requests(const PlannedRun& run, const MemoryRequest& memory) {
  return replay_requests_of(run, memory).simulation;
}

Simulation simulate(const PlannedRun& run, const MemoryRequest& memory) {
  Requested requested = replay_requests_of(run, memory);
  Simulation& simulation = requested.simulation;
  const RequestTrace& trace = *simulation.trace;
  simulation.holders = holders_at(trace, simulation.at_peak.event());
  simulation.parts = process_breakdown(trace, requested.options,
                                       {.event = simulation.at_peak.event(),
                                        .reserved = simulation.replay.result.peak.reserved,
                                        .outside = simulation.outside.total()});
  if (simulation.failure) {
    simulation.failure_site = site_of(trace.tables, simulation.failure->stack);
    simulation.needed =
        smallest_limit(trace, requested.options, simulation.available.value_or(Bytes{}));
  }
  simulation.trainable = requested.trainable ? *requested.trainable : trainable_elements(run.plan);
  return std::move(requested.simulation);
}

std::optional<CompactTrace> compact_requests(const TrainingPlan& plan, Bytes most_live,
                                             ShownShapes& shown) {
  if (plan.engine == EngineKind::torch) {
    return CompactTrace{make_run(plan).trace, {}};
  }
  return generate_within(plan, most_live, shown);
}

PlanPeaks simulate_peaks(const PlannedRun& run, const MemoryRequest& memory) {
  const Simulation outline = before_requests(run, memory);
  const ReplayOptions options = replay_options(outline);
  ShownShapes shown;
  const CompactTrace requests = compact_requests(outline.plan, Bytes{UINT64_MAX}, shown).value();
  const CompactPeaks peaks = replay_compact_peaks(requests, options);
  return {.peak = peaks.peak,
          .at_peak = peaks.at_peak,
          .fits = !peaks.ran_out,
          .reserved_without_limit =
              peaks.ran_out ? replay_compact(requests, with_memory(options, std::nullopt)).reserved
                            : peaks.peak.reserved,
          .available = smaller(options.capacity, options.memory_limit)};
}

std::vector<const Gpu*> gpus_that_hold(const Simulation& simulation) {
  std::vector<const Gpu*> gpus;
  for (const Gpu& gpu : known_gpus()) {
    if (simulation.whole_peak().allocated <= memory_for_allocator(gpu, simulation.plan) &&
        runs_on(gpu, simulation)) {
      gpus.push_back(&gpu);
    }
  }
  std::ranges::stable_sort(gpus, {}, &Gpu::total_memory);
  return gpus;
}

}  // namespace highwater
