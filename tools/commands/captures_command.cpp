// highwater captures: what the CUDA graphs of a run take in other pools, on other streams and in
// other orders.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/edit_option.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/captures/captures_report.hpp"
#include "tools/studies/captures/captures_run.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct CapturesCommand {
  CapturesRequest request;
  OutputFormat format = OutputFormat::table;
};

OptionParser captures_options() {
  OptionParser parser(command("captures"));
  parser.add()("arrange", po::value<Arguments>()->composing()->value_name("HOW"),
               "one more arrangement to replay, as --edit captures:HOW has it: "
               "pools=1+2/3,order=3+1+2+2 (repeatable)")(
      "orders", po::value<std::uint64_t>()->default_value(150)->value_name("N"),
      "how many orders the search for the best one may replay")(
      "device", po::value<int>()->value_name("N"), "only this device of the file")(
      "torch", po::value<std::string>()->value_name("V"),
      "follow the file with the allocator of this PyTorch release, 2.6 or later; default: the "
      "file's own");
  add_memory_options(parser, "as replay has it");
  add_edit_option(parser, EditHelp::forms);
  add_reading_options(parser);
  parser.add_format();
  parser.positional("file", -1);
  return parser;
}

std::vector<EditWords> read_arrangements(const po::variables_map& values) {
  std::vector<EditWords> arrangements;
  if (values.contains("arrange")) {
    for (const std::string& how : values["arrange"].as<Arguments>()) {
      arrangements.push_back(read_edit("captures:" + how));
    }
  }
  return arrangements;
}

CapturesCommand parse_captures(const Arguments& arguments) {
  const po::variables_map values = captures_options().parse(arguments);
  if (!values.contains("file") || values["file"].as<Arguments>().size() != 1) {
    throw UsageError(
        "captures takes exactly one FILE ('-' is standard input); see highwater captures --help");
  }
  CapturesCommand result;
  WorkloadRequest& workload = result.request.workload;
  workload.file = values["file"].as<Arguments>().front();
  std::vector<std::string> problems;
  workload.memory = read_memory_options(values, problems);
  workload.edits = read_edit_option(values, problems);
  collect_problems(problems, [&] { workload.reading = read_reading_options(values); });
  collect_problems(problems, [&] { result.format = output_format(values); });
  collect_problems(problems, [&] { result.request.arrangements = read_arrangements(values); });
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  workload.torch = text_option(values, "torch");
  if (values.contains("device")) {
    workload.device = values["device"].as<int>();
  }
  result.request.most_orders = values["orders"].as<std::uint64_t>();
  return result;
}

}  // namespace

ExitCode run_captures(const Arguments& arguments, std::ostream& out) {
  const CapturesCommand command = parse_captures(arguments);
  out << captures_report(captures_run(command.request), command.format);
  return ExitCode::ok;
}

}  // namespace highwater
