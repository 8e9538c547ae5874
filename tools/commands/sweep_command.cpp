// highwater sweep: one file or plan under the cross product of settings, limits and plan options.
#include <algorithm>
#include <iterator>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/reports/sweep_report.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/studies/sweep/mixed_states.hpp"
#include "tools/studies/sweep/plan_outline.hpp"
#include "tools/studies/sweep/sweep_run.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct SweepCommand {
  WorkloadRequest workload;
  std::vector<SweepAxis> axes;  ///< none: the workload's own
  OutputFormat format = OutputFormat::table;
  bool is_by_line = false;  ///< JSON, one object per run and line
  std::size_t top = 0;      ///< rows of tables for people
  OptionWords plan;         ///< what the command line says about it
  FleetRequest fleet;
};

OptionParser sweep_options() {
  OptionParser parser(command("sweep"));
  add_workload_options(parser);
  parser.add()(
      "set", po::value<Arguments>()->composing()->value_name("KEY=V1,V2,..."),
      "values to try, in every combination; repeatable. KEY: an option of "
      "PYTORCH_CUDA_ALLOC_CONF (or default), alloc-conf (S1;S2), capacity, memory-limit, fraction, "
      "torch, edit, or an option of the plan; auto: chosen from the trace, as for all allocator "
      "options without --set")("top", po::value<std::int64_t>()->default_value(20)->value_name("N"),
                               "table and markdown: best rows shown")(
      "format", po::value<std::string>()->default_value("table")->value_name("F"),
      "table (best first), json (input order), jsonl (as they come), csv, markdown");
  add_fleet_options(parser);
  return parser;
}

void read_format(const po::variables_map& values, SweepCommand& result) {
  result.is_by_line = values["format"].as<std::string>() == "jsonl";
  if (!result.is_by_line) {
    result.format = output_format(values);
  }
}

SweepCommand parse_sweep(const Arguments& arguments) {
  const po::variables_map values = sweep_options().parse(arguments);
  SweepCommand result;
  std::vector<std::string> problems;
  const Arguments sets = values.contains("set") ? values["set"].as<Arguments>() : Arguments{};
  result.axes = read_axes(sets, values.contains("file") ? Swept::recording : Swept::plan, problems);
  collect_problems(problems, [&] { read_format(values, result); });
  collect_problems(problems,
                   [&] { result.fleet = read_fleet_options(values, "sweep", arguments); });
  const auto top = values["top"].as<std::int64_t>();
  if (top < 1) {
    problems.push_back(fmt::format("--top {}: not a number of rows; use 1 or more", top));
  }
  result.top = static_cast<std::size_t>(std::max<std::int64_t>(top, 1));
  std::ranges::move(wrong_plan_values(result.axes), std::back_inserter(problems));
  std::ranges::move(wrong_edits(result.axes), std::back_inserter(problems));
  result.workload = read_workload_options(values, std::move(problems));
  result.workload.timed = std::ranges::count(result.axes, AxisKind::edit, &SweepAxis::kind) != 0;
  result.plan = given_plan_options(values);
  return result;
}

/// The plan of the command line with some options set anew.
PlannedRun run_with(const SweepCommand& command, const OptionWords& options) {
  const OptionWords words = with_words(command.plan, options);
  return find_word(options, "model") != nullptr
             ? checked_run(words)
             : checked_run(words, command.workload.plan->plan.model);
}

std::optional<PlanOutline> outline_with(const SweepCommand& command, const OptionWords& options) {
  try {
    return outline_of(run_with(command, options), command.workload.memory);
  } catch (const UsageError&) {
    return std::nullopt;  // whoever makes the plan says so
  }
}

SweptPlans swept_plans(const SweepCommand& command) {
  return {
      .make =
          [&command](const OptionWords& options) {
            return workload_for_replays(run_with(command, options), command.workload.memory);
          },
      .outline = [&command](const OptionWords& options) { return outline_with(command, options); }};
}

SweepAnswer answer_of(const SweepCommand& command) {
  const bool is_for_people =
      command.format == OutputFormat::table || command.format == OutputFormat::markdown;
  return command.is_by_line ? SweepAnswer::lines
         : is_for_people    ? SweepAnswer::best_runs
                            : SweepAnswer::all_runs;
}

void note_mixed_states(const std::vector<SweepAxis>& axes, Workload& workload) {
  if (!workload.is_plan()) {
    return;
  }
  if (auto note = mixed_states_note(workload.simulation->plan, axes)) {
    workload.replay.notes.push_back(std::move(*note));
  }
}

std::vector<Sweep> run_sweeps(const SweepCommand& command, std::ostream& out) {
  Fleet fleet(command.fleet);
  std::vector<Sweep> sweeps;
  std::vector<Workload> workloads = read_workloads(command.workload);
  require_history(workloads, "there is nothing to try settings on");
  for (Workload& workload : workloads) {
    SweepQuestion question{.axes = command.axes.empty() ? default_axes(workload) : command.axes,
                           .answer = answer_of(command),
                           .top = command.top,
                           .line = sweep_line,
                           .write = [&out](const std::string& lines) { out << lines; }};
    expand_auto(workload, question.axes);
    note_mixed_states(question.axes, workload);
    sweeps.push_back(run_sweep(std::move(workload), question, swept_plans(command), fleet));
  }
  fleet.end_of_pieces();
  return sweeps;
}

}  // namespace

ExitCode run_sweep_command(const Arguments& arguments, std::ostream& out) {
  const SweepCommand command = parse_sweep(arguments);
  const std::vector<Sweep> sweeps = run_sweeps(command, out);
  if (!command.is_by_line) {
    out << sweep_report(sweeps, command.format, command.top);
  }
  return ExitCode::ok;
}

}  // namespace highwater
