#include "tools/html/report_run.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/replay/observer_group.hpp"
#include "tools/reports/explain_sentences.hpp"
#include "tools/reports/simulate/simulate_sentences.hpp"
#include "tools/studies/explanation/peak_diff_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

std::vector<StackId> stacks_of(const RequestTrace& trace) {
  std::vector<StackId> stacks(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      stacks[event.allocation.index()] = event.stack;
    }
  }
  return stacks;
}

std::vector<Category> categories_of(const RequestTrace& trace) {
  std::vector<Category> categories(trace.allocation_count);
  bool is_any_known = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      categories[event.allocation.index()] = event.category;
      is_any_known |= event.category != Category::unknown;
    }
  }
  return is_any_known ? categories : std::vector<Category>();
}

/// The first allocation of each step that was found, and of what follows the last one.
std::vector<AllocationId> step_begins(const RequestTrace& trace, const Steps& steps) {
  std::vector<AllocationId> begins;
  if (steps.source == StepSource::none || steps.source == StepSource::markers) {
    return begins;
  }
  for (const StepSpan& span : steps.steps) {
    for (std::size_t i = span.begin; i < span.end; ++i) {
      if (trace.events[i].kind == EventKind::alloc) {
        begins.push_back(trace.events[i].allocation);
        break;
      }
    }
  }
  return begins;
}

std::string replay_verdict(const ReplayResult& result) {
  if (!result.ooms.empty()) {
    const OutOfMemory& oom = result.ooms.front().account;
    const bool often = result.counts.ooms > 1;
    return fmt::format(
        "Ran out of memory{}: asked for {} with {} reserved, of which {} was unused{}",
        often ? fmt::format(" {} times", result.counts.ooms) : "", to_iec(oom.requested),
        to_iec(oom.reserved), to_iec(oom.reserved - std::min(oom.reserved, oom.active)),
        often ? " (the first time)" : "");
  }
  return fmt::format(
      "Peak reserved {}: {} ({:.1f} %) more than was ever in use at once",
      to_iec(result.peak.reserved),
      to_iec(result.peak.reserved - std::min(result.peak.reserved, result.peak.active)),
      100 * result.fragmentation.peak);
}

/// The workload that reserves most; a note names the others.
Workload chosen(std::vector<Workload> workloads, const std::string& name,
                std::vector<std::string>& notes) {
  require_workloads(workloads, name);
  const auto peak = [](const Workload& workload) { return workload.replay.result.peak.reserved; };
  const auto highest = std::ranges::max_element(workloads, {}, peak);
  std::string others;
  for (const Workload& workload : workloads) {
    if (&workload != &*highest) {
      others += fmt::format("{}device {} ({})", others.empty() ? "" : ", ", workload.replay.device,
                            to_iec(peak(workload)));
    }
  }
  if (!others.empty()) {
    notes.push_back(fmt::format("shows device {}; the file also has {} (--device chooses)",
                                highest->replay.device, others));
  }
  return std::move(*highest);
}

/// Of a recording with the cause where a replay runs out of memory, too.
std::string verdict_of(const ReportRun& run) {
  const Explanation& explained = run.explained;
  if (explained.workload.simulation) {
    const Simulation& simulation = *explained.workload.simulation;
    return verdict(simulation,
                   simulation.available ? std::vector<const Gpu*>() : gpus_that_hold(simulation));
  }
  return explained.oom || !explained.workload.has_history()
             ? explain_verdict(explained)
             : replay_verdict(explained.workload.replay.result);
}

std::optional<Bytes> available_to(const Workload& workload) {
  if (workload.simulation) {
    return workload.simulation->available;
  }
  if (workload.options.memory_limit) {
    return workload.options.memory_limit;
  }
  if (workload.options.capacity && workload.options.fraction) {
    return Bytes{static_cast<std::uint64_t>(
        *workload.options.fraction * static_cast<double>(workload.options.capacity->count()))};
  }
  return workload.options.capacity;
}

RunOutcome outcome_of(const ReportRun& run) {
  if (run.explained.workload.replay.result.counts.ooms > 0) {
    return RunOutcome::out_of_memory;
  }
  return run.available ? RunOutcome::fits : RunOutcome::unlimited;
}

std::string unedited_title(const Workload& workload) {
  if (workload.is_plan()) {
    return workload.name;
  }
  return workload.name == "-" ? "standard input"
                              : std::filesystem::path(workload.name).filename().string();
}

std::string title_of(const Workload& workload) {
  std::string title = unedited_title(workload);
  if (workload.replay.edited) {
    for (const EditAnswer& answer : workload.replay.edited->edits) {
      title += ", " + answer.edit;
    }
  }
  return title;
}

void note_steps(ReportRun& run) {
  const StepSource source = run.explained.steps.source;
  if (source != StepSource::none && source != StepSource::markers) {
    run.notes.push_back(
        fmt::format("steps were detected by {} (confidence {:.2f}); the file marks none",
                    to_string(source), run.explained.steps.confidence));
  }
}

/// One replay for the maps of the moments, the bands and the areas of pools.
void look_again(const Workload& workload, ReportRun& run) {
  const std::size_t allocations = workload.trace->allocation_count;
  run.band_columns = band_columns(run.history.timeline);
  BandRecorder recorder(run.band_columns, allocations);
  PoolAreaRecorder pools(run.band_columns.moments);
  run.states = states_at(run.history.moments, allocations, [&](StateObserver& observer) {
    StateObserverGroup all;
    all.add(observer);
    all.add(recorder);
    all.add(pools);
    workload.watch(all);
  });
  run.bands = recorder.take();
  run.pools = pools.take();
  run.unseen_blocks = recorder.unseen();
}

void watch(const Workload& workload, const Steps& steps, ReportUse use, ReportRun& run) {
  const ProgressLine progress(use == ReportUse::compared ? 3 : 2, "passes over the run");
  HistoryRequest history;
  history.step_begins = step_begins(*workload.trace, steps);
  run.history = collect_history(*workload.trace, workload.watch, history);
  progress.show(1);
  look_again(workload, run);
  progress.show(2);
  if (use == ReportUse::compared) {
    run.peak =
        break_down_peak(*workload.trace, workload.watch, workload.replay.result.peak.reserved);
  }
}

}  // namespace

ReportRun run_for_report(WorkloadRequest request, ReportUse use) {
  request.watchable = true;
  ReportRun run;
  Workload workload = chosen(read_workloads(request), request.file.value_or("plan"), run.notes);
  Steps steps = steps_of(workload);
  watch(workload, steps, use, run);
  // Of a recording it keeps all entries, which take more memory than the explanation.
  workload.watch = nullptr;
  run.explained = explain(std::move(workload), std::move(steps));
  const RequestTrace& trace = *run.explained.workload.trace;
  run.title = title_of(run.explained.workload);
  run.available = available_to(run.explained.workload);
  run.outcome = outcome_of(run);
  run.verdict = verdict_of(run);
  run.stacks = stacks_of(trace);
  run.categories = categories_of(trace);
  note_steps(run);
  return run;
}

}  // namespace highwater
