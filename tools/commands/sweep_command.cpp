// highwater sweep: one file or plan under the cross product of settings, limits and plan options.
#include <algorithm>
#include <iterator>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/reports/sweep_report.hpp"
#include "tools/studies/sweep_run.hpp"

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
};

OptionParser sweep_options() {
  OptionParser parser(command("sweep"));
  add_workload_options(parser);
  parser.add()("set", po::value<Arguments>()->composing()->value_name("KEY=V1,V2,..."),
               "values to try, applied on top of the file's or plan's own; repeatable (cross "
               "product). KEY: an option of PYTORCH_CUDA_ALLOC_CONF (value default: PyTorch's), "
               "capacity, memory-limit, fraction, torch, or an option of the plan (batch, "
               "checkpoint, ...); auto: values chosen from the trace. Without --set: all "
               "allocator options that can make a difference, auto")(
      "top", po::value<std::int64_t>()->default_value(20)->value_name("N"),
      "table and markdown: best rows shown")(
      "format", po::value<std::string>()->default_value("table")->value_name("F"),
      "table (best first), json (input order), jsonl (one run per line), csv or markdown");
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
  result.axes = read_axes(sets, !values.contains("file"), problems);
  collect_problems(problems, [&] { read_format(values, result); });
  const auto top = values["top"].as<std::int64_t>();
  if (top < 1) {
    problems.push_back(fmt::format("--top {}: not a number of rows; use 1 or more", top));
  }
  result.top = static_cast<std::size_t>(std::max<std::int64_t>(top, 1));
  std::ranges::move(wrong_plan_values(result.axes), std::back_inserter(problems));
  result.workload = read_workload_options(values, std::move(problems));
  result.plan = given_plan_options(values);
  return result;
}

/// The plan of the command line with some options set anew.
PlanMaker plan_maker(const SweepCommand& command) {
  return [&command](const OptionWords& options) {
    const OptionWords words = with_words(command.plan, options);
    const PlannedRun run = find_word(options, "model") != nullptr
                               ? checked_run(words)
                               : checked_run(words, command.workload.plan.plan.model);
    return workload_of(run, command.workload.memory);
  };
}

std::vector<Sweep> run_sweeps(const SweepCommand& command) {
  std::vector<Sweep> sweeps;
  for (Workload& workload : read_workloads(command.workload)) {
    std::vector<SweepAxis> axes = command.axes.empty() ? default_axes(workload) : command.axes;
    expand_auto(workload, axes);
    sweeps.push_back(run_sweep(std::move(workload), std::move(axes), plan_maker(command)));
  }
  return sweeps;
}

std::string report_text(const std::vector<Sweep>& sweeps, const SweepCommand& command) {
  return command.is_by_line ? sweep_lines(sweeps)
                            : sweep_report(sweeps, command.format, command.top);
}

}  // namespace

ExitCode run_sweep_command(const Arguments& arguments, std::ostream& out) {
  const SweepCommand command = parse_sweep(arguments);
  out << report_text(run_sweeps(command), command);
  return ExitCode::ok;
}

}  // namespace highwater
