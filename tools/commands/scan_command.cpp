// highwater scan: all snapshots of a job in one table.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>

#include "tools/commands/commands.hpp"
#include "tools/html/scan_page.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/scan/scan_database.hpp"
#include "tools/reports/scan/scan_report.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

void write_files(const Scan& scan, const po::variables_map& values) {
  if (const auto file = output_option(values, "html")) {
    write_text(*open_sink(*file), scan_page(scan));
  }
  if (const auto file = output_option(values, "sqlite")) {
    write_scan_database(scan, *open_sink(*file));
  }
}

/// They are read later, some by other processes; outputs are opened before.
void remember_items(const std::vector<ScanItem>& items) {
  for (const ScanItem& item : items) {
    remember_input(item.file);
  }
}

}  // namespace

ExitCode run_scan(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("scan"));
  add_reading_options(parser);
  add_fleet_options(parser);
  parser.add()("format", po::value<std::string>()->default_value("table")->value_name("F"),
               "table, json, jsonl (one object per row), csv, markdown")(
      "html", output_value("FILE"), "write a page with a heat map over ranks to FILE")(
      "sqlite", output_value("FILE"),
      "write rows, what they hold at their peak and how outliers differ to a database FILE");
  parser.positional("folder", -1);
  const auto values = parser.parse(arguments);
  if (!values.contains("folder") || values["folder"].as<Arguments>().size() != 1) {
    throw UsageError("scan takes exactly one FOLDER; see highwater scan --help");
  }
  const std::filesystem::path folder = values["folder"].as<Arguments>().front();
  const bool is_by_line = values["format"].as<std::string>() == "jsonl";
  const OutputFormat format = is_by_line ? OutputFormat::json : output_format(values);
  const ReadingOptions reading = read_reading_options(values);
  const std::vector<ScanItem> items = find_traces(folder, reading.expansion);
  remember_items(items);
  Fleet fleet(read_fleet_options(values, "scan", arguments));
  const Scan scan = scan_files(folder, items, reading, fleet);
  fleet.end_of_pieces();
  write_files(scan, values);
  out << (is_by_line ? scan_lines(scan) : scan_report(scan, format));
  return scan.errors() != 0 ? ExitCode::bad_input : ExitCode::ok;
}

}  // namespace highwater
