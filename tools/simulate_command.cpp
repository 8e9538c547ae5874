// highwater simulate: a plan's peaks, what they are made of, and whether it fits.
#include <cmath>
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/compared_estimates.hpp"
#include "tools/formula_option.hpp"
#include "tools/simulate_report.hpp"
#include "tools/simulate_run.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct SimulateCommand {
  PlannedRun run;
  MemoryRequest memory;
  OutputFormat format = OutputFormat::table;
  bool find_batch = false;
  std::vector<const Formula*> bridges;  ///< closed forms whose difference is taken apart
  bool fail_on_oom = false;
  std::optional<Bytes> max_reserved;
};

OptionParser option_parser() {
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("capacity", text("SIZE"),
               "memory that the allocator can have; default: what --gpu leaves it, else unlimited")(
      "alloc-conf", text("S"), "settings as in PYTORCH_CUDA_ALLOC_CONF")(
      "memory-limit", text("SIZE"), "what the process may take, as set by a memory fraction")(
      "memory-fraction", text("X"), "the same as a share of the GPU's memory, 0 to 1")(
      "bridge", text("NAME[,NAME]"),
      "take the difference to these closed forms apart, part by part; all for all of them")(
      "find-batch", "search the largest batch that fits and report on it")(
      "fail-on-oom", "exit with 1 when memory ran out")("max-reserved", text("SIZE"),
                                                        "exit with 1 when peak reserved is above");
  parser.add_format();
  return parser;
}

/// Runs `read`; a mistake joins the others.
template <class Read>
void collect(std::vector<std::string>& problems, const Read& read) {
  try {
    read();
  } catch (const UsageError& error) {
    problems.emplace_back(error.what());
  }
}

void read_fraction(const po::variables_map& values, MemoryRequest& memory) {
  const auto text = text_option(values, "memory-fraction");
  if (!text) {
    return;
  }
  char* end = nullptr;
  const double fraction = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0' || !(fraction >= 0 && fraction <= 1)) {
    throw UsageError(fmt::format("--memory-fraction {}: not a number between 0 and 1", *text));
  }
  memory.memory_fraction = fraction;
}

void read_memory(const po::variables_map& values, SimulateCommand& result,
                 std::vector<std::string>& problems) {
  MemoryRequest& memory = result.memory;
  collect(problems, [&] { memory.capacity = size_option(values, "capacity"); });
  collect(problems, [&] { memory.memory_limit = size_option(values, "memory-limit"); });
  collect(problems, [&] { read_fraction(values, memory); });
  collect(problems, [&] { result.max_reserved = size_option(values, "max-reserved"); });
  memory.alloc_conf = text_option(values, "alloc-conf");
  if (memory.alloc_conf) {
    const std::string release = text_option(values, "torch").value_or("2.6");
    collect(problems,
            [&] { settings_from_command_line(*memory.alloc_conf, nearest_preset(release)); });
  }
}

void check_together(const po::variables_map& values, std::vector<std::string>& problems) {
  const bool has_memory = values.contains("gpu") || values.contains("capacity");
  if (values.contains("memory-limit") && values.contains("memory-fraction")) {
    problems.emplace_back(
        "--memory-limit and --memory-fraction are the same limit; give one of them");
  }
  if (values.contains("memory-fraction") && !has_memory) {
    problems.emplace_back(
        "--memory-fraction is a share of a device's memory; give --gpu or "
        "--capacity too");
  }
  if (values.contains("find-batch") && values.contains("batch")) {
    problems.emplace_back("--find-batch chooses the batch; leave --batch out");
  }
  if (values.contains("find-batch") && !has_memory && !values.contains("memory-limit")) {
    problems.emplace_back(
        "--find-batch needs a limit to fit in; give --gpu, --capacity or "
        "--memory-limit");
  }
}

SimulateCommand parse(const Arguments& arguments) {
  const po::variables_map values = option_parser().parse(arguments);
  SimulateCommand result;
  std::vector<std::string> problems;
  read_memory(values, result, problems);
  collect(problems, [&] { result.format = output_format(values); });
  check_together(values, problems);
  if (values.contains("bridge")) {
    result.bridges = formula_option(values, problems, "bridge");
  }
  result.run = read_plan(values, std::move(problems));
  result.find_batch = values.contains("find-batch");
  result.fail_on_oom = values.contains("fail-on-oom");
  return result;
}

void write(const SimulationReport& report, OutputFormat format, std::ostream& out) {
  if (format == OutputFormat::json) {
    out << simulation_json(report) << "\n";
  } else if (format == OutputFormat::csv) {
    TextTable table;
    table.columns = {"metric", "value"};
    for (const Metric& metric : simulation_metrics(report).metrics) {
      table.rows.push_back({metric.key, to_exact_text(metric.value)});
    }
    out << format_csv(table);
  } else {
    out << simulation_text(report, format);
  }
}

}  // namespace

ExitCode run_simulate(const Arguments& arguments, std::ostream& out) {
  const SimulateCommand command = parse(arguments);
  SimulationReport report;
  report.simulation = command.find_batch ? simulate_largest_batch(command.run, command.memory)
                                         : simulate(command.run, command.memory);
  report.estimates = compare_estimates(report.simulation);
  report.bridges = command.bridges;
  write(report, command.format, out);
  const Simulation& simulation = report.simulation;
  const bool is_over =
      command.max_reserved && simulation.replay.result.peak.reserved > *command.max_reserved;
  return is_over || (command.fail_on_oom && !simulation.fits()) ? ExitCode::exceeded : ExitCode::ok;
}

}  // namespace highwater
