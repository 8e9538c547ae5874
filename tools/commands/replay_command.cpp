// highwater replay: options, the run, the report.
#include <algorithm>
#include <functional>
#include <iterator>
#include <ostream>
#include <utility>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "sim/replay/trace_driver.hpp"
#include "tools/commands/commands.hpp"
#include "tools/options/chance_options.hpp"
#include "tools/options/edit_option.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/replay_output.hpp"
#include "tools/studies/gate/check_run.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct ReplayCommand {
  std::string file;
  ReadingOptions reading;
  ReplayRequest request;
  std::vector<EditWords> edits;
  OutputFormat format = OutputFormat::table;
  bool with_timeline = false;
  bool fail_on_oom = false;
  std::optional<Bytes> max_reserved;
};

OptionParser replay_options() {
  OptionParser parser(command("replay"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add_memory_options(parser,
                     "of a recording, failures exactly where they were recorded, and under other "
                     "settings the limit that they show; otherwise unlimited");
  parser.add()("device", po::value<int>()->value_name("N"), "only this device of the file")(
      "torch", text("V"),
      "follow the file with the allocator of this PyTorch release, 2.6 or later; default: the "
      "file's own")("decisions", "also list every decision: OP ACTION ADDRESS SIZE STREAM")(
      "timeline", "with --format json: memory over time, with exact extremes")(
      "fail-on-oom", "exit with 1 if an allocation fails")(
      "max-reserved", text("SIZE"), "exit with 1 if peak reserved exceeds SIZE");
  add_edit_option(parser, EditHelp::forms);
  add_reading_options(parser);
  parser.add_format();
  parser.positional("file", -1);
  return parser;
}

ReplayCommand parse_replay(const Arguments& arguments) {
  const po::variables_map values = replay_options().parse(arguments);
  ReplayCommand result;
  if (!values.contains("file") || values["file"].as<Arguments>().size() != 1) {
    throw UsageError(
        "replay takes exactly one FILE ('-' is standard input); see highwater replay --help");
  }
  result.file = values["file"].as<Arguments>().front();
  std::vector<std::string> problems;
  result.request.memory = read_memory_options(values, problems);
  result.edits = read_edit_option(values, problems);
  collect_problems(problems, [&] { result.reading = read_reading_options(values); });
  collect_problems(problems, [&] { result.format = output_format(values); });
  collect_problems(problems, [&] { result.max_reserved = size_option(values, "max-reserved"); });
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  result.request.torch = text_option(values, "torch");
  if (values.contains("device")) {
    result.request.device = values["device"].as<int>();
  }
  result.request.decisions =
      values.contains("decisions") ? DecisionDetail::keep : DecisionDetail::none;
  result.fail_on_oom = values.contains("fail-on-oom");
  result.with_timeline = values.contains("timeline");
  if (result.with_timeline && result.format != OutputFormat::json) {
    throw UsageError("--timeline needs --format json; add it");
  }
  if (result.format == OutputFormat::csv && values.contains("decisions")) {
    throw UsageError("--decisions cannot be written as csv; use --format table, markdown or json");
  }
  return result;
}

/// The same question about a file with its stacks.
WorkloadRequest workload_request(const ReplayCommand& command) {
  WorkloadRequest request;
  request.file = command.file;
  request.memory = command.request.memory;
  request.torch = command.request.torch;
  request.device = command.request.device;
  request.reading = command.reading;
  request.edits = command.edits;
  request.decisions = command.request.decisions;
  request.watchable = command.max_reserved.has_value();
  return request;
}

/// The simulation knows no file names; a message to the user needs one.
std::vector<DeviceReplay> replays_of(const TraceFile& file, const ReplayCommand& command) {
  try {
    return run_replays(file, command.file, command.request);
  } catch (const OperationError& error) {
    throw error.in(command.file);
  }
}

/// "device 1: " where there are several.
std::string device_words(const std::vector<DeviceReplay>& replays, const DeviceReplay& replay) {
  return replays.size() > 1 ? fmt::format("device {}: ", replay.device) : "";
}

/// Who holds the peak of each device. The replays are carried out again, with their stacks.
std::vector<std::string> peak_holders(std::vector<Workload> workloads) {
  std::vector<std::string> holders;
  for (Workload& workload : workloads) {
    holders.push_back(holders_of_peak(std::move(workload)));
  }
  return holders;
}

/// Absent where no budget was given.
std::optional<BudgetVerdict> judge(const std::vector<DeviceReplay>& replays,
                                   const std::function<std::vector<Workload>()>& workloads,
                                   const ReplayCommand& command) {
  if (!command.fail_on_oom && !command.max_reserved) {
    return std::nullopt;
  }
  const auto is_over = [&](const DeviceReplay& replay) {
    return command.max_reserved && replay.result.peak.reserved > *command.max_reserved;
  };
  const auto holders = std::ranges::any_of(replays, is_over) ? peak_holders(workloads())
                                                             : std::vector<std::string>{};
  BudgetVerdict verdict;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const std::string where = device_words(replays, replays[i]);
    const ReplayResult& result = replays[i].result;
    if (command.fail_on_oom && result.counts.ooms != 0) {
      verdict.exceeded.push_back(where + oom_words(result));
    }
    if (is_over(replays[i])) {
      verdict.exceeded.push_back(
          where + with_clause(budget_words(budget_of(*command.max_reserved), result.peak.reserved),
                              holders[i]));
    }
  }
  return verdict;
}

}  // namespace

ExitCode run_replay(const Arguments& arguments, std::ostream& out) {
  if (asks_about_chance(arguments)) {
    return run_chance(arguments, out);
  }
  const ReplayCommand command = parse_replay(arguments);
  const bool is_edited = !command.edits.empty();
  TraceFile file = read_trace_file(
      command.file, command.max_reserved || is_edited ? StackMode::keep : StackMode::skip,
      command.reading);
  std::vector<Workload> edited;
  std::vector<DeviceReplay> replays;
  if (is_edited) {
    edited = workloads_of(std::move(file), workload_request(command));
    std::ranges::transform(edited, std::back_inserter(replays), &Workload::replay);
  } else {
    replays = with_progress("replaying", [&] { return replays_of(file, command); });
  }
  const auto verdict = judge(
      replays,
      [&] {
        return is_edited ? std::move(edited)
                         : workloads_of(std::move(file), workload_request(command));
      },
      command);
  out << replay_output(replays, command.format,
                       command.with_timeline ? TimelineKeys::written : TimelineKeys::omitted,
                       verdict);
  if (verdict) {
    enforce(*verdict);
  }
  return ExitCode::ok;
}

}  // namespace highwater
