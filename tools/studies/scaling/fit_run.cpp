#include "tools/studies/scaling/fit_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "allocator/settings/settings_describe.hpp"
#include "sim/scaling/program_fit.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "tools/files/program_file.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/studies/scaling/recorded_conditions.hpp"
#include "tools/studies/scaling/recorded_integers.hpp"
#include "tools/studies/scaling/reduction_ways.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/site_label.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

/// A recording that was read, under the conditions under which it ran.
struct ReadRun {
  std::string path;
  NamedIntegers integers;
  std::vector<FixedCondition> conditions;
  Workload workload;
};

std::vector<std::string> names_of(const NamedIntegers& integers) {
  std::vector<std::string> names;
  for (const auto& [name, value] : integers) {
    names.push_back(name);
  }
  return names;
}

NamedIntegers integers_of(const FitFile& file, const TraceFile& content) {
  if (!file.given.empty()) {
    return file.given;
  }
  const auto* recording = std::get_if<Recording>(&content);
  NamedIntegers integers =
      recording != nullptr ? recorded_integers(recording->plan) : NamedIntegers();
  if (integers.empty()) {
    throw UsageError(fmt::format(
        "'{0}' does not say at which batch and length it ran; say so: {0}:batch=2,seq=128, or any "
        "other names",
        file.path));
  }
  return integers;
}

Workload only_workload(TraceFile content, const FitFile& file, const FitRequest& request) {
  WorkloadRequest wanted;
  wanted.file = file.path;
  wanted.device = request.device;
  std::vector<Workload> workloads = workloads_of(std::move(content), wanted);
  require_workloads(workloads, file.path);
  if (workloads.size() != 1) {
    throw UsageError(fmt::format("'{}' contains {} devices; choose one with --device", file.path,
                                 workloads.size()));
  }
  Workload workload = std::move(workloads.front());
  if (!workload.has_history()) {
    throw InputError(file.path, "", "contains no requests", std::string(kHowToRecord));
  }
  if (workload.ran_out() || workload.replay.result.counts.ooms != 0) {
    throw InputError(file.path, "", "ran out of memory, so its requests end too early",
                     "record it with a smaller batch, or with a larger --capacity");
  }
  return workload;
}

ReadRun read_run(const FitFile& file, const FitRequest& request) {
  TraceFile content = read_trace_file(file.path, StackMode::keep, request.reading);
  NamedIntegers integers = integers_of(file, content);
  std::ranges::sort(integers);
  const auto* recording = std::get_if<Recording>(&content);
  std::vector<FixedCondition> conditions =
      recording != nullptr ? recorded_conditions(recording->plan) : std::vector<FixedCondition>();
  return {file.path, std::move(integers), std::move(conditions),
          only_workload(std::move(content), file, request)};
}

/// @throws UsageError where the recordings are of different programs
std::vector<FixedCondition> conditions_of(const std::vector<ReadRun>& runs,
                                          const FitRequest& request) {
  std::vector<ConditionsOfRun> of_runs;
  for (const ReadRun& run : runs) {
    of_runs.push_back({run.path, run.conditions});
  }
  std::vector<FixedCondition> conditions = shared_conditions(of_runs);
  if (request.gpu != nullptr) {
    std::erase_if(conditions, [](const auto& each) { return each.name == kGpuCondition; });
    conditions.insert(conditions.begin(),
                      {std::string(kGpuCondition), std::string(request.gpu->name)});
  }
  return conditions;
}

/// The GPU of the recordings; nullptr where they do not name one that is known.
const Gpu* gpu_in(const std::vector<FixedCondition>& conditions) {
  const FixedCondition* gpu = find_condition(conditions, kGpuCondition);
  return gpu == nullptr ? nullptr : find_gpu(gpu->value);
}

ReductionWays ways_on(const Gpu* gpu) {
  return gpu != nullptr ? reduction_ways(*gpu) : ReductionWays();
}

void note_workspaces(const ProgramFit& fit, const Gpu* gpu, std::vector<std::string>& notes) {
  if (fit.unexplained_workspaces != 0 && gpu == nullptr) {
    notes.push_back(fmt::format(
        "{} look like workspaces of reductions, which stop to grow when the GPU is busy; the "
        "recordings do not name their GPU, so where is not known: say it with --gpu NAME",
        plural(fit.unexplained_workspaces, "request")));
  }
}

void require_same_names(const std::vector<ReadRun>& runs) {
  for (const ReadRun& run : runs) {
    if (names_of(run.integers) != names_of(runs.front().integers)) {
      throw UsageError(fmt::format("'{}' has {}, '{}' has {}; give all of them the same integers",
                                   runs.front().path,
                                   fmt::join(names_of(runs.front().integers), ", "), run.path,
                                   fmt::join(names_of(run.integers), ", ")));
    }
  }
}

void require_different_values(const std::vector<ReadRun>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (runs[i].integers == runs[j].integers) {
        throw UsageError(
            fmt::format("'{}' and '{}' have the same values; fit recordings of "
                        "different batches or lengths",
                        runs[j].path, runs[i].path));
      }
    }
  }
}

/// What is the same in every recording is no variable of the program.
void drop_constants(std::vector<ReadRun>& runs, std::vector<std::string>& notes) {
  const NamedIntegers first = runs.front().integers;
  for (const NamedInteger& integer : first) {
    const bool is_constant = std::ranges::all_of(runs, [&](const ReadRun& run) {
      return std::ranges::find(run.integers, integer) != run.integers.end();
    });
    if (is_constant) {
      notes.push_back(
          fmt::format("{} is {} in every recording, so the program has it built in; record another "
                      "{} to vary it",
                      integer.first, integer.second, integer.first));
      for (ReadRun& run : runs) {
        std::erase(run.integers, integer);
      }
    }
  }
}

std::vector<FitRun> fit_runs(const std::vector<ReadRun>& runs) {
  std::vector<FitRun> result;
  for (const ReadRun& run : runs) {
    Values values;
    for (const auto& [name, value] : run.integers) {
      values.push_back(value);
    }
    result.push_back({run.path, run.workload.trace.get(), std::move(values)});
  }
  return result;
}

PeakBytes predicted_peaks(const ScalableProgram& program, const Values& values) {
  const RequestTrace trace = requests_at(program, values).trace;
  return peak_bytes(replay_requests(trace, "the program", {}).result.peak);
}

/// The recordings without the largest, and what the program they give says of it.
std::optional<HeldOutCheck> check_by_largest(const std::vector<std::string>& integers,
                                             std::vector<FitRun> runs, const TraceHeader& header,
                                             const ReductionWays& ways) {
  constexpr std::size_t kFewest = 3;
  if (runs.size() < kFewest) {
    return std::nullopt;
  }
  const std::size_t largest = largest_run(runs);
  const FitRun held_out = runs[largest];
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(largest));
  ScalableProgram program = fit_program(integers, runs, ways).program;
  program.requests.header = header;
  const ComparedPoint compared = compare_with(program, held_out);
  return HeldOutCheck{.point = largest,
                      .other_sizes = compared.other_sizes,
                      .unconfirmed = compared.unconfirmed,
                      .missing = compared.missing,
                      .additional = compared.additional,
                      .predicted = predicted_peaks(program, held_out.values)};
}

/// Settings and release as recorded: a program is replayed under the same.
TraceHeader header_of(const Workload& workload) {
  TraceHeader header;
  header.settings = to_conf(workload.replay.settings);
  header.torch = release_of(workload.replay.version->name);
  return header;
}

void add_changes(const ProgramFit& fit, const std::vector<FitRun>& runs, ScalableProgram& program) {
  for (const ChangedSite& change : fit.changes) {
    program.changes.push_back({change.phase,
                               site_label(runs[change.run].requests->tables, change.stack),
                               change.counts, change.largest});
  }
}

}  // namespace

PeakBytes peak_bytes(const Usage& usage) {
  return {usage.requested, usage.allocated, usage.active, usage.reserved};
}

FittedFiles fit_files(const FitRequest& request) {
  FittedFiles fitted;
  std::vector<ReadRun> read;
  for (const FitFile& file : request.files) {
    read.push_back(read_run(file, request));
  }
  require_same_names(read);
  require_different_values(read);
  drop_constants(read, fitted.notes);
  const std::vector<std::string> integers = names_of(read.front().integers);
  const std::vector<FitRun> runs = fit_runs(read);
  std::vector<FixedCondition> conditions = conditions_of(read, request);
  const Gpu* gpu = gpu_in(conditions);
  const ReductionWays ways = ways_on(gpu);
  ProgramFit fit = fit_program(integers, runs, ways);
  note_workspaces(fit, gpu, fitted.notes);
  fitted.program = std::move(fit.program);
  ScalableProgram& program = fitted.program;
  program.conditions = std::move(conditions);
  program.requests.header = header_of(read[program.base].workload);
  program.check = check_by_largest(integers, runs, program.requests.header, ways);
  add_changes(fit, runs, program);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    FittedPoint point = compare_with(program, runs[i]);
    point.held_out = program.check && program.check->point == i;
    point.recorded = peak_bytes(read[i].workload.replay.result.peak);
    point.predicted = predicted_peaks(program, point.values);
    program.points.push_back(std::move(point));
  }
  return fitted;
}

}  // namespace highwater
