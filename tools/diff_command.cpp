// highwater diff: two traces request by request, or a recorded case against its simulation.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/diff_report.hpp"
#include "tools/input.hpp"
#include "tools/recorded_run.hpp"
#include "traces/error.hpp"
#include "workloads/generate.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct DiffCommand {
  std::string first;
  std::optional<std::string> second;  ///< absent: the simulation of the first
  DiffView view;
  DiffOptions options;
  OutputFormat format = OutputFormat::table;
};

OptionParser option_parser() {
  OptionParser parser(command("diff"));
  const auto count = [](std::int64_t by_default) {
    return po::value<std::int64_t>()->default_value(by_default)->value_name("N");
  };
  parser.add()("step", po::value<std::int64_t>()->value_name("N"), "only this step")(
      "phase", po::value<std::string>()->value_name("P"),
      "only this phase: init, zero_grad, data, forward (with loss), backward, clip, optimizer, "
      "empty_cache")("context", count(3), "equal requests shown around a difference")(
      "max-hunks", count(5), "differences shown in full")("max-lines", count(60),
                                                          "lines shown of one of them")(
      "ignore-free-order", "frees with no allocation between them may come in any order");
  parser.add_format();
  parser.note("format", {"the exit code is 0 where traces differ, too: a difference is the answer, "
                         "not a failure (validate and conformance exit with 1)"});
  parser.positional("files", -1);
  return parser;
}

std::size_t count_option(const po::variables_map& values, const std::string& name) {
  const auto number = values[name].as<std::int64_t>();
  if (number < 0) {
    throw UsageError(fmt::format("--{} {}: write 0 or more", name, number));
  }
  return static_cast<std::size_t>(number);
}

DiffCommand parse(const Arguments& arguments) {
  const po::variables_map values = option_parser().parse(arguments);
  const auto files = values.contains("files") ? values["files"].as<Arguments>() : Arguments{};
  if (files.empty() || files.size() > 2) {
    throw UsageError(
        "diff takes two traces, or one recorded case X.json, which is compared with its "
        "simulation; see highwater diff --help");
  }
  DiffCommand result;
  result.first = files.front();
  if (files.size() == 2) {
    result.second = files.back();
  }
  if (values.contains("step")) {
    result.view.step = count_option(values, "step");
  }
  result.view.phase = text_option(values, "phase");
  result.view.context = count_option(values, "context");
  result.view.max_hunks = count_option(values, "max-hunks");
  result.view.max_lines = count_option(values, "max-lines");
  result.options.free_order =
      values.contains("ignore-free-order") ? FreeOrder::ignored : FreeOrder::counts;
  result.format = output_format(values);
  if (result.format == OutputFormat::csv || result.format == OutputFormat::markdown) {
    throw UsageError("diff writes --format table or json");
  }
  return result;
}

/// One side, read or simulated; the comparison refers into it.
struct DiffSide {
  std::string name;
  std::optional<RecordedCase> described;
  std::unique_ptr<DerivedRecording> recorded;
  std::optional<RequestTrace> requests;

  [[nodiscard]] const RequestTrace& trace() const {
    return requests ? *requests : recorded->derived.requests;
  }

  [[nodiscard]] ComparedTrace compared() const {
    return requests ? compared_trace(*requests)
                    : compared_trace(*recorded, described ? &*described : nullptr);
  }
};

DiffSide read_side(const std::string& path) {
  DiffSide side;
  side.name = path;
  if (const auto files = case_files(path)) {
    side.name = files->recording;
    side.described = load_case(files->description);
    side.recorded = load_recording(files->recording, StackMode::keep);
    return side;
  }
  if (is_description(path) && std::filesystem::exists(path)) {
    throw InputError(path, "", "the recording beside it (.pickle.xz) is missing",
                     "a recorded case is a pair X.json, X.pickle.xz");
  }
  TraceFile file = read_trace_file(path, StackMode::keep);  // explains what does not exist
  if (auto* requests = std::get_if<RequestTrace>(&file)) {
    side.requests = std::move(*requests);
  } else {
    side.recorded = std::make_unique<DerivedRecording>(std::move(std::get<Recording>(file)), path);
  }
  return side;
}

DiffSide simulated_side(const DiffSide& recorded) {
  if (!recorded.described) {
    throw UsageError(fmt::format(
        "'{}' has no description X.json beside it to simulate it from; give a second trace",
        recorded.name));
  }
  if (!recorded.described->plan) {
    throw InputError(recorded.name, "case",
                     "cannot be simulated: " + recorded.described->unsupported_reason,
                     "give a second trace to compare with");
  }
  DiffSide side;
  side.name = recorded.described->id + ", simulated from its description";
  side.requests = generate(*recorded.described->plan);
  return side;
}

std::vector<std::string> notes(const DiffSide& first) {
  std::vector<std::string> notes;
  if (first.described && first.described->status == CaseStatus::out_of_memory) {
    notes.emplace_back(
        "the recorded program ran out of memory; compared up to the request that failed");
  }
  if (first.recorded != nullptr && !first.described) {
    notes.emplace_back("no description beside the recording: its phases are not known");
  }
  return notes;
}

/// A filter that selects nothing is a mistake, not equality.
void require_selection(const TraceDiff& diff, const DiffView& view) {
  const auto is_selected = [&](const PhaseDiff& phase) {
    return (!view.step || phase.step == view.step) && (!view.phase || phase.phase == *view.phase);
  };
  if (std::ranges::none_of(diff.phases, is_selected)) {
    throw UsageError("no phase matches --step and --phase; without them diff lists all");
  }
}

}  // namespace

ExitCode run_diff(const Arguments& arguments, std::ostream& out) {
  const DiffCommand command = parse(arguments);
  const DiffSide first = read_side(command.first);
  const DiffSide second = command.second ? read_side(*command.second) : simulated_side(first);
  const TraceDiff diff = diff_traces(first.compared(), second.compared(), command.options);
  require_selection(diff, command.view);
  const DiffSubject subject{first.name, second.name, &first.trace(), &second.trace(), notes(first)};
  if (command.format == OutputFormat::json) {
    out << diff_json(diff, subject, command.view) << "\n";
  } else {
    out << diff_text(diff, subject, command.view);
  }
  return ExitCode::ok;
}

}  // namespace highwater
