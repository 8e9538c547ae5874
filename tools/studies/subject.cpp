#include "tools/studies/subject.hpp"

#include <algorithm>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "sim/replay/trace_driver.hpp"
#include "tools/commands/commands.hpp"
#include "tools/files/input.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/reports/simulate_report.hpp"
#include "tools/studies/rank_survey.hpp"
#include "tools/text/site_label.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

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

/// Options of a plan say nothing about a file.
void require_no_plan_options(const po::variables_map& values, std::vector<std::string>& problems) {
  OptionParser plan_parser(command("generate"));
  add_plan_options(plan_parser);
  for (const std::string& option : plan_parser.option_names()) {
    if (option != "torch" && option != "gpu" && option != "help" && values.contains(option) &&
        !values[option].defaulted()) {
      problems.push_back(
          fmt::format("--{} belongs to a plan (--model), not to a FILE; leave it out", option));
    }
  }
}

std::optional<std::string> read_file_option(const po::variables_map& values,
                                            std::vector<std::string>& problems) {
  if (!values.contains("file")) {
    return std::nullopt;
  }
  const auto& files = values["file"].as<Arguments>();
  if (files.size() > 1) {
    problems.emplace_back("give one FILE at a time ('-' is standard input)");
  }
  require_no_plan_options(values, problems);
  return files.front();
}

const Gpu* read_gpu_of_file(const po::variables_map& values, std::vector<std::string>& problems) {
  const auto name = text_option(values, "gpu");
  const Gpu* gpu = name ? find_gpu(*name) : nullptr;
  if (name && gpu == nullptr) {
    problems.push_back(fmt::format("--gpu {}: unknown; see highwater simulate --help", *name));
  }
  return gpu;
}

void read_plan_subject(const po::variables_map& values, SubjectRequest& request,
                       std::vector<std::string>& problems) {
  if (!values.contains("model")) {
    problems.emplace_back("give a FILE (snapshot or trace), or a plan with --model");
    throw UsageErrors(std::move(problems));
  }
  if (request.memory.memory_fraction && !values.contains("gpu") && !request.memory.capacity) {
    problems.emplace_back(
        "--memory-fraction is a share of a device's memory; give --gpu or --capacity too");
  }
  request.plan = read_plan(values, std::move(problems));
  problems.clear();
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

void add_subject_options(OptionParser& parser) {
  add_plan_options(parser);
  add_memory_options(parser,
                     "what --gpu leaves it; of a recording that ran out of memory, what "
                     "its failure shows; else unlimited");
  parser.add()("device", po::value<int>()->value_name("N"), "of a FILE: only this device");
  parser.positional("file", -1);
}

SubjectRequest read_subject_options(const po::variables_map& values,
                                    std::vector<std::string> problems) {
  SubjectRequest request;
  request.memory = read_memory_options(values, problems);
  request.file = read_file_option(values, problems);
  request.torch = text_option(values, "torch");
  if (values.contains("device")) {
    request.device = values["device"].as<int>();
  }
  if (request.file) {
    request.gpu = read_gpu_of_file(values, problems);
    if (request.gpu != nullptr && !request.memory.has_limit()) {
      request.memory.capacity = memory_for_allocator(*request.gpu, TrainingPlan{});
    }
  } else {
    read_plan_subject(values, request, problems);
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  return request;
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
  subject.name = plan_summary(worst.plan);
  subject.replay = subject.simulation->replay;
  subject.options = replay_options(*subject.simulation);
  subject.trace = subject.simulation->trace;
  return subject;
}

}  // namespace highwater
