// highwater estimate: closed forms of a plan, without simulating it.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/options/formula_option.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/reports/estimates/estimate_report.hpp"
#include "traces/parse_text.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

constexpr int kMostNodes = 1 << 20;

OptionParser estimate_options() {
  OptionParser parser(command("estimate"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("formula", text("NAME[,NAME]"),
               fmt::format("only these forms, with their terms (all: every form): {}",
                           fmt::join(formula_names(), ", "))
                   .c_str())("gpus-per-node", text("N"),
                             "GPUs per node; default: what the plan's ranks need, at most 8")(
      "nodes", text("N"), "nodes of the job; default: what the plan's ranks need")(
      "llmem-base", text("SIZE"),
      "LLMem's m_base, the memory in use before training; default 1100 MiB")(
      "explain", "also show each form's equation, source, assumptions and known errors");
  add_plan_options(parser);
  parser.add_format();
  return parser;
}

std::optional<int> read_job_size(const po::variables_map& values, const std::string& option,
                                 std::vector<std::string>& problems) {
  const auto given = text_option(values, option);
  if (!given) {
    return std::nullopt;
  }
  const auto number = parse_number<std::int64_t>(*given);
  if (!number || *number < 1 || *number > kMostNodes) {
    problems.push_back(fmt::format("--{} {}: out of range; use a number from 1 to {}", option,
                                   *given, kMostNodes));
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

struct EstimateCommand {
  EstimateReport report;
  OutputFormat format = OutputFormat::table;
};

EstimateCommand parse_estimate(const Arguments& arguments) {
  const po::variables_map values = estimate_options().parse(arguments);
  std::vector<std::string> problems;
  EstimateCommand result;
  const auto chosen = formula_option(values, problems);
  const JobSize job{.gpus_per_node = read_job_size(values, "gpus-per-node", problems),
                    .nodes = read_job_size(values, "nodes", problems)};
  std::optional<Bytes> base;
  try {
    base = size_option(values, "llmem-base");
    result.format = output_format(values);
  } catch (const UsageError& error) {
    problems.emplace_back(error.what());
  }
  const PlannedRun run = read_plan(values, std::move(problems), PlanUse::estimate);
  const TrainingPlan& plan = run.plan;
  if (std::string problem = job_problem(plan.parallel, job); !problem.empty()) {
    throw UsageError(problem);
  }
  EstimateReport& report = result.report;
  report.inputs = estimate_inputs(plan, job);
  report.notes = run.notes;
  report.inputs.base = base.value_or(kLlmemBase);
  report.has_details = values.contains("formula");
  report.has_sources = values.contains("explain");
  for (const Formula* formula : chosen) {
    report.outcomes.push_back(evaluate(*formula, report.inputs));
  }
  return result;
}

}  // namespace

ExitCode run_estimate(const Arguments& arguments, std::ostream& out) {
  const EstimateCommand command = parse_estimate(arguments);
  out << estimate_report(command.report, command.format);
  return ExitCode::ok;
}

}  // namespace highwater
