#include "tools/studies/subject.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/replay/trace_driver.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/rank_survey.hpp"
#include "tools/studies/trust_line.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/site_label.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/plan_summary.hpp"

namespace highwater {
namespace {

Subject subject_of(RequestTrace trace, const std::string& name, const ReplayRequest& request) {
  Subject subject;
  subject.name = name;
  subject.replay = replay_requests(trace, name, request);
  subject.options = options_of(subject.replay, trace.header.addresses);
  subject.trace = std::make_shared<RequestTrace>(std::move(trace));
  return subject;
}

/// A recording that ran out of memory keeps the limit that this shows, unless another is given.
void apply_recorded_limit(Subject& subject, const MemoryRequest& memory) {
  if (!subject.limit || memory.has_limit()) {
    return;
  }
  bound_as_shown(*subject.limit, subject.options);
  if (memory.alloc_conf) {
    subject.replay.capacity = subject.options.capacity;
    subject.replay.memory_limit = subject.options.memory_limit;
    subject.replay.result = replay(*subject.trace, subject.options);
  }
}

/// The recorded process's own settings, and the limit that its failure shows.
ReplayOptions recorded_options(const RecordedReplay& recorded) {
  ReplayOptions options;
  options.settings = recorded.settings;
  options.version = recorded.replay.version;
  if (recorded.limit) {
    bound_as_shown(*recorded.limit, options);
  }
  return options;
}

/// Events that with_baseline() puts in front.
std::size_t baseline_events(const DerivedTrace& derived) {
  const auto blocks =
      std::ranges::count_if(derived.initial_ids, [](AllocationId id) { return id.has_value(); });
  const auto private_segments =
      std::ranges::count_if(derived.initial.segments,
                            [](const MapSegment& segment) { return !segment.owner.is_default(); });
  return static_cast<std::size_t>(blocks + 2 * private_segments);
}

/// The replay of a recording that follows it, to be carried out again.
std::function<void(StateObserver&)> following(std::shared_ptr<const Recording> recording,
                                              const RecordedDevice& device,
                                              RecordedReplay recorded) {
  return [keep = std::move(recording), &device, settings = recorded.replay.settings,
          version = recorded.replay.version,
          derived = std::make_shared<DerivedTrace>(std::move(recorded.derived))](
             StateObserver& observer) {
    replay_as_recorded(device, *derived, settings, *version, DecisionDetail::none, &observer);
  };
}

Subject subject_of(const std::shared_ptr<const Recording>& recording, const RecordedDevice& device,
                   const std::string& name, const SubjectRequest& request) {
  RecordedReplay recorded = replay_recorded(*recording, device, name, replay_request(request));
  Subject subject;
  subject.name = name;
  subject.as_recorded = recorded_options(recorded);
  subject.replay = std::move(recorded.replay);
  subject.options = options_of(subject.replay, AddressPolicy::never_reuse);
  subject.trace = std::make_shared<RequestTrace>(recorded.requests());
  subject.older_events = baseline_events(recorded.derived);
  subject.fidelity = recorded.as_recorded.fidelity;
  subject.limit = recorded.limit;
  apply_recorded_limit(subject, request.memory);
  if (request.watchable && subject.replay.fidelity) {
    recorded.replay.settings = subject.replay.settings;
    recorded.replay.version = subject.replay.version;
    subject.watch = following(recording, device, std::move(recorded));
  }
  return subject;
}

/// The same requests under the same settings and limits, decided by another release.
void serve_by(const VersionPreset& version, Subject& subject) {
  if (subject.replay.fidelity && subject.as_recorded) {
    subject.options = *subject.as_recorded;
  }
  subject.options.version = &version;
  subject.replay.version = &version;
  subject.replay.fidelity.reset();
  subject.replay.capacity = subject.options.capacity;
  subject.replay.memory_limit = subject.options.memory_limit;
  subject.replay.result = replay(*subject.trace, subject.options);
  subject.watch = nullptr;
}

std::vector<Subject> file_subjects(const SubjectRequest& request) {
  const std::string& name = *request.file;
  const auto file = std::make_shared<TraceFile>(read_trace_file(name, StackMode::keep));
  std::vector<Subject> subjects;
  if (auto* trace = std::get_if<RequestTrace>(file.get())) {
    if (request.device.value_or(0) == 0) {
      subjects.push_back(subject_of(std::move(*trace), name, replay_request(request)));
    }
  } else {
    const std::shared_ptr<const Recording> recording(file, &std::get<Recording>(*file));
    for (const RecordedDevice& device : recording->devices) {
      if (request.device.value_or(device.index) == device.index) {
        subjects.push_back(subject_of(recording, device, name, request));
      }
    }
  }
  if (request.device && subjects.empty()) {
    throw UsageError(
        fmt::format("--device {}: '{}' has nothing about that device", *request.device, name));
  }
  return subjects;
}

}  // namespace

ReplayRequest replay_request(const SubjectRequest& request) {
  return {.memory = request.memory, .torch = request.torch, .device = request.device};
}

bool Subject::is_limit_shown() const {
  return limit && is_bound_as_shown(*limit, options);
}

std::string Subject::site(StackId stack) const {
  return site_label(trace->tables, stack);
}

std::string Subject::trust() const {
  return simulation ? simulation_trust_line(*simulation) : trust_line(replay);
}

std::vector<Subject> read_subjects(const SubjectRequest& request) {
  std::vector<Subject> subjects;
  if (!request.file) {
    subjects.push_back(subject_of(request.plan, request.memory));
  } else {
    try {
      subjects = file_subjects(request);
    } catch (const OperationError& error) {
      throw error.in(*request.file);
    }
  }
  for (Subject& subject : subjects) {
    if (request.served_by) {
      serve_by(version_preset(*request.served_by), subject);
    }
    if (request.watchable && !subject.watch) {
      subject.watch = [trace = subject.trace, options = subject.options](StateObserver& observer) {
        replay_watched(*trace, options, observer);
      };
    }
  }
  return subjects;
}

Steps steps_of(const Subject& subject) {
  Steps steps = find_steps(*subject.trace);
  std::erase_if(steps.steps,
                [&](const StepSpan& step) { return step.begin < subject.older_events; });
  return steps.steps.empty() ? Steps() : steps;
}

Subject subject_of(const PlannedRun& run, const MemoryRequest& memory) {
  PlannedRun worst = run;
  if (run.plan.parallel.gpus() > 1) {
    const RankSurvey survey = survey_ranks(run, memory, {});
    worst.plan.parallel.rank = survey.peaks[survey.worst].ranks.rank;
  }
  Subject subject;
  subject.simulation = simulate(worst, memory);
  subject.name = printable(plan_summary(worst.plan));
  subject.replay = subject.simulation->replay;
  subject.options = replay_options(*subject.simulation);
  subject.trace = subject.simulation->trace;
  return subject;
}

}  // namespace highwater
