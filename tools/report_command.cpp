// highwater report: one HTML file about a run, to open in a browser and to send to somebody.
#include <ostream>
#include <span>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/plan_options.hpp"
#include "tools/report_data.hpp"
#include "tools/report_page.hpp"
#include "tools/report_run.hpp"
#include "tools/safe_text.hpp"
#include "traces/formats/byte_sink.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

OptionParser option_parser() {
  OptionParser parser(command("report"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("output,o", text("HTML"),
               "the file to write; default: report.html; - is standard output")(
      "alloc-conf", text("S"),
      "settings as in PYTORCH_CUDA_ALLOC_CONF; replaces all settings of the file")(
      "capacity", text("SIZE"), "memory of the device, e.g. 80GiB")(
      "memory-limit", text("SIZE"), "what the process may take, as set by a memory fraction")(
      "memory-fraction", po::value<double>()->value_name("X"),
      "the same as a share of the capacity, 0 to 1")(
      "device", po::value<int>()->value_name("N"),
      "this device of the file; default: the one that reserves most");
  add_plan_options(parser);
  parser.positional("file", -1);
  return parser;
}

ReplayRequest replay_request(const po::variables_map& values) {
  ReplayRequest request;
  request.alloc_conf = text_option(values, "alloc-conf");
  request.capacity = size_option(values, "capacity");
  request.memory_limit = size_option(values, "memory-limit");
  request.torch = text_option(values, "torch");
  if (values.contains("memory-fraction")) {
    request.memory_fraction = values["memory-fraction"].as<double>();
  }
  if (values.contains("device")) {
    request.device = values["device"].as<int>();
  }
  return request;
}

ReportRun run_of(const po::variables_map& values) {
  const ReplayRequest request = replay_request(values);
  if (!values.contains("file")) {
    return run_for_report(read_plan(values), {request.alloc_conf, request.capacity,
                                              request.memory_limit, request.memory_fraction});
  }
  const auto& files = values["file"].as<Arguments>();
  if (files.size() != 1 || values.contains("model")) {
    throw UsageError("report takes one FILE, or --model and the options of a plan; not both");
  }
  return run_for_report(read_trace_file(files.front(), StackMode::keep), files.front(), request);
}

}  // namespace

ExitCode run_report(const Arguments& arguments, std::ostream& out) {
  const po::variables_map values = option_parser().parse(arguments);
  const std::string path = text_option(values, "output").value_or("report.html");
  const ReportRun run = run_of(values);
  const std::string page = report_page(report_json(run));
  const auto sink = open_sink(path);
  sink->write(std::as_bytes(std::span(page)));
  sink->commit();
  if (path != "-") {
    out << fmt::format("{}\nwrote {} ({:.1f} MB)\n{}\n", printable(run.verdict), printable(path),
                       static_cast<double>(page.size()) / 1e6, printable(run.trust));
  }
  return ExitCode::ok;
}

}  // namespace highwater
