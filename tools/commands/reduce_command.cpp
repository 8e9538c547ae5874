// highwater reduce: the shortest program that still shows what a run shows, for a bug report.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/files/trace_output.hpp"
#include "tools/options/kept_property_option.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/reports/reduction/reduce_report.hpp"
#include "tools/reports/reduction/torch_script.hpp"
#include "tools/studies/reduction/reduce_run.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/output_target.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct ReduceCommand {
  ReduceRequest request;
  ReducedFiles files;
  OutputFormat format = OutputFormat::table;
};

OptionParser reduce_options() {
  OptionParser parser(command("reduce"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("keep", text("WHAT"),
               "what has to remain: oom (the first request that fails, for the same cause), "
               "'peak>=SIZE' (reserved) or 'fragmentation>=SHARE' (1 - peak active / peak "
               "reserved)")("output,o", output_value("PATH"),
                            "the requests that are left: .trace (text) or .hwt, and .gz, .xz or "
                            ".zst to compress")(
      "script", output_value("PATH"), "a Python script that makes the same requests of PyTorch")(
      "max-operations", po::value<std::uint64_t>()->default_value(20'000'000'000)->value_name("N"),
      "how many operations the search may replay");
  parser.add_format();
  add_workload_options(parser);
  return parser;
}

void read_files(const po::variables_map& values, ReducedFiles& files) {
  files.trace = output_option(values, "output").value_or("");
  files.script = output_option(values, "script").value_or("");
  if (files.trace.empty() && files.script.empty()) {
    throw UsageError("reduce writes what is left; add --output small.trace or --script small.py");
  }
  if (!files.trace.empty()) {
    trace_format(files.trace);  // before the search
  }
}

ReduceCommand parse_reduce(const Arguments& arguments) {
  const po::variables_map values = reduce_options().parse(arguments);
  ReduceCommand result;
  std::vector<std::string> problems;
  collect_problems(problems, [&] { result.format = output_format(values); });
  collect_problems(problems, [&] { read_files(values, result.files); });
  collect_problems(problems, [&] {
    const auto keep = text_option(values, "keep");
    if (!keep) {
      throw UsageError("missing --keep oom, --keep 'peak>=SIZE' or --keep 'fragmentation>=SHARE'");
    }
    result.request.wanted = parse_wanted_property(*keep);
  });
  result.request.most_operations = values["max-operations"].as<std::uint64_t>();
  result.request.workload = read_workload_options(values, std::move(problems));
  return result;
}

}  // namespace

ExitCode run_reduce(const Arguments& arguments, std::ostream& out) {
  const ReduceCommand command = parse_reduce(arguments);
  const ReducedRun run = reduce_run(command.request);
  if (!command.files.trace.empty()) {
    write_trace_file(run.reduction.trace, command.files.trace);
  }
  if (!command.files.script.empty()) {
    write_text(*open_sink(command.files.script), torch_script(run));
  }
  const bool is_shown =
      !is_standard_output(command.files.trace) && !is_standard_output(command.files.script);
  if (is_shown) {  // nothing may be mixed with what goes to standard output
    out << reduce_report(run, command.files, command.format);
  }
  return ExitCode::ok;
}

}  // namespace highwater
