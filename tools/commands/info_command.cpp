// highwater info: what is in these files.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/info_report.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// Read as a signed number: Boost would take -1 for the largest unsigned one.
std::size_t sites_to_list(const po::variables_map& values) {
  const auto top = values["top"].as<std::int64_t>();
  if (top < 0) {
    throw UsageError(fmt::format("--top {}: not a number of call sites; use 0 or more", top));
  }
  return static_cast<std::size_t>(top);
}

}  // namespace

ExitCode run_info(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("info"));
  parser.add()("top", po::value<std::int64_t>()->default_value(10)->value_name("N"),
               "call sites to list per device");
  add_reading_options(parser);
  parser.add_format();
  parser.positional("files", -1);
  const po::variables_map values = parser.parse(arguments);
  if (!values.contains("files")) {
    throw UsageError("info takes one or more FILEs; see highwater info --help");
  }
  const OutputFormat format = output_format(values);
  const std::size_t top = sites_to_list(values);
  const ReadingOptions reading = read_reading_options(values);
  std::vector<FileInfo> files;
  for (const std::string& name : values["files"].as<Arguments>()) {
    const TraceFile file = read_trace_file(name, StackMode::keep, reading);
    files.push_back(with_progress("examining", [&] { return describe_file(file, name, top); }));
  }
  out << info_report(files, format);
  return ExitCode::ok;
}

}  // namespace highwater
