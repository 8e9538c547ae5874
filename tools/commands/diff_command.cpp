// highwater diff: what changes the peak between two runs, and their requests one by one; or a
// recorded case against its simulation.
#include <algorithm>
#include <ostream>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/commands/diff_request.hpp"
#include "tools/engine/engine.hpp"
#include "tools/files/input.hpp"
#include "tools/options/plan_source_option.hpp"
#include "tools/reports/diff/diff_report.hpp"
#include "tools/reports/diff/peak_sizes_report.hpp"
#include "tools/reports/peak_diff_report.hpp"
#include "tools/reports/replay_members.hpp"
#include "tools/studies/gate/peak_words.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/recording_check.hpp"
#include "tools/studies/validation/recorded_run.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_case.hpp"
#include "workloads/sources/observed_run.hpp"

namespace highwater {
namespace {

/// One side, read or simulated; the comparison refers into it.
struct DiffSide {
  std::string name;
  std::optional<RecordedCase> described;
  std::unique_ptr<DerivedRecording> recorded;
  std::optional<RequestTrace> requests;
  std::vector<std::string> notes;  ///< what a simulated side lacks

  [[nodiscard]] const RequestTrace& trace() const {
    return requests ? *requests : recorded->derived.requests;
  }

  [[nodiscard]] ComparedTrace compared() const {
    return requests ? compared_trace(*requests)
                    : compared_trace(*recorded, described ? &*described : nullptr);
  }
};

void require_no_lone_description(const std::string& path) {
  if (describes_case(path)) {
    throw InputError(path, "", "describes a recorded case, but its recording is missing",
                     "put X.pickle.xz or X.hwt.xz into the folder of X.json, or give a trace");
  }
}

DiffSide read_side(const std::string& path, const ReadingOptions& reading) {
  DiffSide side;
  side.name = path;
  if (const auto files = case_files(path)) {
    side.name = files->recording;
    side.described = load_case(files->description);
    side.recorded = load_recording(files->recording, StackMode::keep);
    return side;
  }
  require_no_lone_description(path);
  TraceFile file = read_trace_file(path, StackMode::keep, reading);  // explains what does not exist
  if (auto* requests = std::get_if<RequestTrace>(&file)) {
    side.requests = std::move(*requests);
  } else {
    side.recorded = std::make_unique<DerivedRecording>(std::move(std::get<Recording>(file)), path);
  }
  return side;
}

/// The plan of a recorded case.
TrainingPlan described_plan(const DiffSide& recorded) {
  if (!recorded.described->plan) {
    throw InputError(recorded.name, "case",
                     "cannot be simulated: " + recorded.described->unsupported_reason,
                     "give a second trace to compare with");
  }
  return *recorded.described->plan;
}

/// The plan that `highwater record` wrote into the recording; what it lacks joins the notes.
TrainingPlan carried_plan(const DiffSide& recorded, std::vector<std::string>& notes) {
  if (!recorded.recorded || recorded.recorded->recording.plan.empty()) {
    throw UsageError(fmt::format(
        "'{}' has no description X.json in its folder to simulate it from, and carries no plan as "
        "recordings of highwater record do; give a second trace",
        recorded.name));
  }
  const PlanSource source = plan_of_recording(recorded.recorded->recording.plan, recorded.name);
  notes = source_notes(source);
  OptionWords words = source.words;
  std::erase_if(words, [](const OptionWord& word) { return find_option(word.first) == nullptr; });
  words.emplace_back("engine", "model");
  TrainingPlan plan = checked_run(words, {}, PlanUse::estimate).plan;
  if (const std::string* rank = find_word(source.words, "rank")) {
    plan.parallel.rank = parse_number<int>(*rank).value_or(0);
  }
  return plan;
}

void choose_engine_of(const OptionWords& words, TrainingPlan& plan) {
  std::vector<std::string> problems;
  plan.engine = EngineKind::model;
  for (const auto& [name, text] : words) {
    if (const Complaint complaint = option_called(name).set(plan, text)) {
      problems.push_back(fmt::format("--{} {}: {}", name, text, *complaint));
    }
  }
  if (plan.engine == EngineKind::both) {
    problems.emplace_back("--engine both: diff shows one simulation; use model, torch or auto");
  }
  if (problems.empty()) {
    choose_engine(plan, problems);
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
}

DiffSide simulated_side(const DiffSide& recorded, const OptionWords& engine) {
  DiffSide side;
  TrainingPlan plan =
      recorded.described ? described_plan(recorded) : carried_plan(recorded, side.notes);
  choose_engine_of(engine, plan);
  side.name = recorded.described ? recorded.described->id + ", simulated from its description"
                                 : recorded.name + ", simulated from the plan that it carries";
  side.name += plan.engine == EngineKind::torch ? " by PyTorch" : "";
  side.requests = with_progress("simulating", [&] { return make_run(plan).trace; });
  return side;
}

std::vector<std::string> notes(const DiffSide& first) {
  std::vector<std::string> notes;
  if (first.described && first.described->status == CaseStatus::out_of_memory) {
    notes.emplace_back(
        "the recorded program ran out of memory; compared up to the request that failed");
  }
  if (first.recorded != nullptr && first.compared().phases.empty()) {
    notes.emplace_back(
        "no description beside the recording, and it names no phases, as those of highwater record "
        "do");
  }
  return notes;
}

/// A filter that selects nothing is a mistake, not equality.
void require_selection(const TraceDiff& diff, const DiffView& view) {
  const auto is_selected = [&](const PhaseDiff& phase) {
    return (!view.step || phase.step == view.step) && (!view.phase || phase.phase == *view.phase);
  };
  const bool is_filtered = view.step || view.phase;
  if (is_filtered && std::ranges::none_of(diff.phases, is_selected)) {
    throw UsageError("no phase matches --step and --phase; omit them to list all");
  }
}

/// Of a case the recording, which can be named by its description, too.
std::string recording_of(const std::string& path) {
  const auto files = case_files(path);
  if (!files) {
    require_no_lone_description(path);
  }
  return files ? files->recording : path;
}

/// The name of a side, with what it is replayed under if that is not its own.
std::string name_of(const DiffSideRequest& side) {
  std::string under;
  const auto add = [&](const char* what, const std::string& value) {
    under += (under.empty() ? " under " : ", ") + std::string(what) + value;
  };
  if (side.memory.alloc_conf) {
    add("", side.memory.alloc_conf->empty() ? "default settings" : *side.memory.alloc_conf);
  }
  if (side.memory.capacity) {
    add("capacity ", to_iec(*side.memory.capacity));
  }
  if (side.memory.memory_limit) {
    add("a limit of ", to_iec(*side.memory.memory_limit));
  }
  if (side.torch) {
    add("PyTorch ", *side.torch);
  }
  return recording_of(side.path) + under;
}

PeakDiff compare_peaks(const DiffRequest& request) {
  PeakDiff diff;
  const auto peak = [&](const DiffSideRequest& side) {
    return workload_peak(
        {recording_of(side.path), side.memory, side.torch, request.device, request.reading},
        diff.notes);
  };
  diff.first = peak(request.first);
  diff.second = peak(*request.second);
  diff.change = change_between(diff.first, diff.second);
  note_older_blocks(diff);
  return diff;
}

/// The sides, and what is asked about their requests.
struct RequestDiff {
  explicit RequestDiff(const DiffRequest& request)
      : first(read_side(request.first.path, request.reading)),
        second(request.second ? read_side(request.second->path, request.reading)
                              : simulated_side(first, request.engine)) {
    if (request.shows_requests) {
      diff = with_progress("comparing", [&] {
        return diff_traces(first.compared(), second.compared(), request.options);
      });
      require_selection(*diff, request.view);
    }
    if (request.shows_blocks) {
      sizes = peak_sizes(first.trace(), second.trace());
    }
  }

  DiffSide first;
  DiffSide second;
  std::optional<TraceDiff> diff;
  std::optional<PeakSizes> sizes;
};

/// Both views, as far as they are asked for, under one heading.
DiffInputs inputs_of(const DiffRequest& request, const std::optional<PeakDiff>& peaks,
                     const std::optional<RequestDiff>& requests) {
  DiffInputs inputs;
  inputs.first_name = name_of(request.first);
  inputs.second_name = request.second ? name_of(*request.second) : "";
  if (requests) {
    inputs.first = &requests->first.trace();
    inputs.second = &requests->second.trace();
    inputs.notes = notes(requests->first);
    inputs.notes.insert(inputs.notes.end(), requests->second.notes.begin(),
                        requests->second.notes.end());
  }
  if (requests && !peaks) {
    inputs.first_name = requests->first.name;
    inputs.second_name = requests->second.name;
  }
  if (peaks) {
    inputs.notes.insert(inputs.notes.end(), peaks->notes.begin(), peaks->notes.end());
  }
  return inputs;
}

/// A run that ran out of memory never grew to its peak.
BudgetVerdict judge_growth(const GrowthLimit& most, const DiffInputs& inputs,
                           const PeakDiff& peaks) {
  BudgetVerdict verdict;
  const ReplayResult& result = peaks.second.workload.replay.result;
  if (result.counts.ooms != 0) {
    verdict.exceeded.push_back(oom_words(result));
  }
  const PeakRow& total = peaks.change.total;
  const Budget budget = budget_of(total.first.total(), inputs.first_name, "--fail-above", most);
  const Bytes reserved = total.second.total();
  if (!budget.admits(reserved)) {
    verdict.exceeded.push_back(
        with_clause(budget_words(budget, reserved), growth_words(peaks.change)));
  }
  return verdict;
}

}  // namespace

ExitCode run_diff(const Arguments& arguments, std::ostream& out) {
  const DiffRequest request = read_diff_request(arguments);
  std::optional<RequestDiff> requests;
  if (request.shows_requests || request.shows_blocks) {
    requests.emplace(request);
  }
  std::optional<PeakDiff> peaks;
  if (request.shows_peak) {
    peaks = compare_peaks(request);
  }
  const DiffInputs inputs = inputs_of(request, peaks, requests);
  std::optional<BudgetVerdict> verdict;
  if (request.fail_above && peaks) {
    verdict = judge_growth(*request.fail_above, inputs, *peaks);
  }
  if (request.format == OutputFormat::json) {
    boost::json::object root = diff_json(inputs);
    if (peaks) {
      root["peak"] = peak_diff_json(*peaks);
    }
    if (requests && requests->sizes) {
      root["blocks"] = peak_sizes_json(*requests->sizes);
    }
    if (requests && requests->diff) {
      add_requests_json(*requests->diff, inputs, request.view, root);
    }
    root["notes"] = words_json(inputs.notes);
    if (verdict) {
      root["budget"] = object_json(*verdict);
    }
    out << root << "\n";
  } else {
    out << diff_header(inputs) << (peaks ? peak_diff_text(*peaks, request.top) : "")
        << (requests && requests->sizes ? peak_sizes_text(*requests->sizes, request.top) : "")
        << (requests && requests->diff ? requests_text(*requests->diff, inputs, request.view) : "");
  }
  if (verdict) {
    enforce(*verdict);
  }
  return ExitCode::ok;
}

}  // namespace highwater
