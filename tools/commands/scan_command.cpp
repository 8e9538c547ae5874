// highwater scan: all snapshots of a job in one table.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>

#include "tools/commands/commands.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/scan_report.hpp"
#include "traces/error.hpp"

namespace highwater {

ExitCode run_scan(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("scan"));
  add_reading_options(parser);
  add_fleet_options(parser);
  parser.add_format();
  parser.positional("folder", -1);
  const auto values = parser.parse(arguments);
  if (!values.contains("folder") || values["folder"].as<Arguments>().size() != 1) {
    throw UsageError("scan takes exactly one FOLDER; see highwater scan --help");
  }
  const std::filesystem::path folder = values["folder"].as<Arguments>().front();
  const auto files = find_traces(folder);
  Fleet fleet(read_fleet_options(values, "scan", arguments));
  const Scan scan = scan_files(folder, files, read_reading_options(values), fleet);
  fleet.end_of_pieces();
  out << scan_report(scan, output_format(values));
  return scan.errors() != 0 ? ExitCode::bad_input : ExitCode::ok;
}

}  // namespace highwater
