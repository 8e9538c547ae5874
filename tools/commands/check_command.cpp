// highwater check: a gate for continuous integration, on a recorded run or a plan.
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <utility>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/budget_options.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/reports/gate/check_report.hpp"
#include "tools/reports/gate/ci_report.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct CheckCommand {
  WorkloadRequest workload;
  CheckLimits limits;
  std::optional<std::string> junit;
  bool annotates = false;
  OutputFormat format = OutputFormat::table;

  [[nodiscard]] bool accepts() const { return limits.use == BaselineUse::accept; }
};

/// Two runs of one program usually differ by less than 2 % (kLeastGain of advise).
constexpr double kUsualGrowth = 0.02;

OptionParser check_options() {
  OptionParser parser(command("check"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("max-reserved", text("SIZE"), "the most that the run may reserve")(
      "baseline", text("FILE"), "the accepted run (JSON) with which this one is compared")(
      "max-growth", text("P"),
      "how far the peak may exceed the baseline's, such as 2% or 64MiB; default 2%")(
      "accept", "write this run to --baseline as the accepted one")(
      "junit", output_value("FILE"), "also write the result as a JUnit file")(
      "github", "also print annotations for GitHub Actions; default where GITHUB_ACTIONS is true");
  parser.add_format();
  add_workload_options(parser);
  return parser;
}

bool is_for_people(OutputFormat format) {
  return format == OutputFormat::table || format == OutputFormat::markdown;
}

bool runs_on_github() {
  const char* const value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string_view(value) == "true";
}

void check_limits_together(const po::variables_map& values, const CheckCommand& command,
                           std::vector<std::string>& problems) {
  if (!values.contains("max-reserved") && !values.contains("baseline")) {
    problems.emplace_back("check needs a limit; add --max-reserved SIZE or --baseline FILE");
  }
  for (const char* option : {"max-growth", "accept"}) {
    if (values.contains(option) && !values.contains("baseline")) {
      problems.push_back(fmt::format("--{} needs a baseline; add --baseline FILE", option));
    }
  }
  if (values.contains("github") && !is_for_people(command.format)) {
    problems.emplace_back("--github prints between the lines of a table; use --format table");
  }
}

CheckCommand parse_check(const Arguments& arguments) {
  const po::variables_map values = check_options().parse(arguments);
  CheckCommand result;
  std::vector<std::string> problems;
  CheckLimits& limits = result.limits;
  collect_problems(problems, [&] { limits.max_reserved = size_option(values, "max-reserved"); });
  collect_problems(problems, [&] { result.format = output_format(values); });
  limits.growth = growth_option(values, "max-growth", problems).value_or(GrowthLimit(kUsualGrowth));
  limits.baseline_name = text_option(values, "baseline").value_or("");
  limits.use = values.contains("accept") ? BaselineUse::accept : BaselineUse::compare;
  check_limits_together(values, result, problems);
  result.junit = output_option(values, "junit");
  result.annotates =
      values.contains("github") || (runs_on_github() && is_for_people(result.format));
  result.workload = read_workload_options(values, std::move(problems));
  result.workload.watchable = true;
  limits.is_whole_run = !result.workload.device;
  return result;
}

std::vector<Workload> workloads_to_check(const CheckCommand& command) {
  std::vector<Workload> workloads = read_workloads(command.workload);
  require_workloads(workloads, command.workload.file.value_or("plan"));
  return workloads;
}

/// With --accept the baseline need not exist yet.
std::optional<Baseline> baseline_for(const CheckCommand& command) {
  const std::string& path = command.limits.baseline_name;
  if (path.empty()) {
    return std::nullopt;
  }
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (is_there || error) {  // reading it tells what is wrong
    return read_baseline(path);
  }
  if (command.accepts()) {
    return std::nullopt;
  }
  throw InputError(path, "", "there is no baseline yet", "add --accept to write it");
}

/// A run that ran out of memory must not become the baseline.
bool accept(const CheckCommand& command, const CheckResult& result) {
  if (!command.accepts() || result.ran_out()) {
    return false;
  }
  write_baseline(baseline_of(result, command.limits),
                 *open_sink(command.limits.baseline_name, Overwrite::inputs_too));
  return true;
}

}  // namespace

ExitCode run_check(const Arguments& arguments, std::ostream& out) {
  CheckCommand command = parse_check(arguments);
  command.limits.baseline = baseline_for(command);
  std::vector<Workload> workloads = workloads_to_check(command);
  const CheckResult result = with_progress(
      "checking", [&] { return check_workloads(std::move(workloads), command.limits); });
  if (command.junit) {
    write_text(*open_sink(*command.junit), junit_report(result));
  }
  const bool is_written = accept(command, result);
  out << check_report(result, command.format)
      << (command.annotates ? github_annotations(result) : "");
  if (is_written && is_for_people(command.format)) {
    out << fmt::format("wrote {}\n", printable(command.limits.baseline_name));
  }
  return result.is_kept() ? ExitCode::ok : ExitCode::exceeded;
}

}  // namespace highwater
