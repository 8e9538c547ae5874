// highwater scan: all snapshots of a job in one table.
#include <algorithm>
#include <ostream>
#include <type_traits>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/studies/scan_run.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::string outlier_words(const ScanRow& row) {
  std::string words = row.is_reserved_outlier ? "reserved" : "";
  if (row.is_allocated_outlier) {
    words += words.empty() ? "allocated" : " allocated";
  }
  return words;
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

/// Sizes for people or exact, as `text_of` has it.
template <class TextOf>
std::vector<std::string> cells(const ScanRow& row, TextOf text_of) {
  const std::string rank = row.rank ? std::to_string(*row.rank) : "";
  if (row.is_error()) {
    return {row.file, rank, "", "", "", "", "", "", "", "", "", row.error};
  }
  return {row.file,
          rank,
          std::to_string(row.device),
          text_of(row.peak.reserved),
          text_of(row.peak.allocated),
          text_of(row.peak.active),
          text_of(row.fragmentation),
          std::to_string(row.ooms),
          text_of(row.truncated),
          row.fidelity ? text_of(*row.fidelity) : "",
          outlier_words(row),
          ""};
}

TextTable table_of(const Scan& scan, OutputFormat format) {
  TextTable table;
  table.columns = {"file",           "rank",        "device",        "peak_reserved",
                   "peak_allocated", "peak_active", "fragmentation", "ooms",
                   "truncated",      "fidelity",    "outlier",       "error"};
  table.right_aligned = {false, true, true, true, true, true, true, true, false, true};
  if (format != OutputFormat::csv) {
    for (std::string& column : table.columns) {
      std::ranges::replace(column, '_', ' ');
    }
  }
  for (const ScanRow& row : scan.rows) {
    table.rows.push_back(format == OutputFormat::csv
                             ? cells(row, [](auto value) { return to_exact_text(value); })
                             : cells(row, [](auto value) {
                                 if constexpr (std::is_same_v<decltype(value), double>) {
                                   return percent(value);
                                 } else {
                                   return highwater::to_text(MetricValue(value));
                                 }
                               }));
  }
  return table;
}

std::string label(const ScanRow& row) {
  return row.rank ? fmt::format("rank {}", *row.rank) : row.file;
}

std::string spread_words(const Scan& scan, const Spread& spread, std::string_view what) {
  return fmt::format("peak {}: {} to {}, median {}; the highest ({}) is {} above the mean", what,
                     to_iec(spread.lowest), to_iec(spread.highest), to_iec(spread.median),
                     label(scan.rows[spread.highest_row]), percent(spread.imbalance()));
}

std::vector<std::string> summary(const Scan& scan) {
  const auto outliers = std::ranges::count_if(scan.rows, [](const ScanRow& row) {
    return row.is_reserved_outlier || row.is_allocated_outlier;
  });
  std::vector<std::string> lines{fmt::format("{} rows, {} unreadable, {} outliers",
                                             scan.rows.size(), scan.errors(), outliers)};
  if (scan.reserved) {
    lines.push_back(spread_words(scan, *scan.reserved, "reserved"));
    lines.push_back(spread_words(scan, *scan.allocated, "allocated"));
  }
  return lines;
}

boost::json::object spread_json(const Spread& spread) {
  return {{"lowest_bytes", spread.lowest.count()},   {"median_bytes", spread.median.count()},
          {"highest_bytes", spread.highest.count()}, {"mean_bytes", spread.mean},
          {"imbalance", spread.imbalance()},         {"highest_row", spread.highest_row}};
}

boost::json::object row_json(const ScanRow& row) {
  boost::json::object object{{"file", valid_utf8(row.file)}};
  object["rank"] = row.rank ? boost::json::value(*row.rank) : nullptr;
  if (row.is_error()) {
    object["error"] = valid_utf8(row.error);
    return object;
  }
  object["device"] = row.device;
  object["peak_reserved_bytes"] = row.peak.reserved.count();
  object["peak_allocated_bytes"] = row.peak.allocated.count();
  object["peak_active_bytes"] = row.peak.active.count();
  object["fragmentation"] = row.fragmentation;
  object["ooms"] = row.ooms;
  object["truncated"] = row.truncated;
  object["fidelity"] = row.fidelity ? boost::json::value(*row.fidelity) : nullptr;
  object["outlier_reserved"] = row.is_reserved_outlier;
  object["outlier_allocated"] = row.is_allocated_outlier;
  return object;
}

void write_json(const Scan& scan, std::ostream& out) {
  boost::json::object root{{"schema", "highwater.scan/1"}};
  boost::json::array& rows = root["rows"].emplace_array();
  for (const ScanRow& row : scan.rows) {
    rows.push_back(row_json(row));
  }
  root["unreadable"] = scan.errors();
  root["peak_reserved"] = scan.reserved ? boost::json::value(spread_json(*scan.reserved)) : nullptr;
  root["peak_allocated"] =
      scan.allocated ? boost::json::value(spread_json(*scan.allocated)) : nullptr;
  out << root << "\n";
}

void write(const Scan& scan, OutputFormat format, std::ostream& out) {
  if (format == OutputFormat::json) {
    write_json(scan, out);
    return;
  }
  const TextTable table = table_of(scan, format);
  if (format == OutputFormat::csv) {
    out << format_csv(table);
    return;
  }
  out << (format == OutputFormat::markdown ? format_markdown(table) + "\n" : format_aligned(table));
  for (const std::string& line : summary(scan)) {
    out << printable(line) << "\n";
  }
}

}  // namespace

ExitCode run_scan(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("scan"));
  parser.add_format();
  parser.positional("folder", -1);
  const auto values = parser.parse(arguments);
  if (!values.contains("folder") || values["folder"].as<Arguments>().size() != 1) {
    throw UsageError("scan takes exactly one FOLDER; see highwater scan --help");
  }
  const std::filesystem::path folder = values["folder"].as<Arguments>().front();
  const auto files = find_traces(folder);
  Scan scan;
  {
    const ProgressLine progress(files.size(), "files");
    scan = scan_files(folder, files, [&](std::size_t done) { progress.show(done); });
  }
  write(scan, output_format(values), out);
  return scan.errors() == scan.rows.size() ? ExitCode::bad_input : ExitCode::ok;
}

}  // namespace highwater
