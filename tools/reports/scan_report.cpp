#include "tools/reports/scan_report.hpp"

#include <algorithm>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/report.hpp"

namespace highwater {
namespace {

std::string outlier_words(const ScanRow& row) {
  std::string words = row.is_reserved_outlier ? "reserved" : "";
  if (row.is_allocated_outlier) {
    words += words.empty() ? "allocated" : " allocated";
  }
  return words;
}

Cell scan_rank_cell(const ScanRow& row) {
  return row.rank ? Cell(*row.rank) : Cell::blank();
}

Cell scan_error_cell(const ScanRow& row) {
  return row.is_error() ? Cell(row.error) : Cell();
}

/// Blank for a file that could not be read.
template <class Value>
auto if_readable(Value value) {
  return [value](const ScanRow& row) {
    return row.is_error() ? Cell() : Cell(std::invoke(value, row));
  };
}

auto scan_peak(Bytes Usage::*member) {
  return if_readable([member](const ScanRow& row) { return row.peak.*member; });
}

Cell share_or_blank(const std::optional<double>& fraction) {
  return fraction ? percent_cell(*fraction, 2) : Cell::blank();
}

const Columns<ScanRow>& scan_columns() {
  using enum Align;
  static const Columns<ScanRow> kColumns{
      {"file", "file", left, &ScanRow::file},
      {"rank", "rank", right, scan_rank_cell},
      {"device", "device", right, if_readable(&ScanRow::device)},
      {"peak_reserved_bytes", "peak reserved", right, scan_peak(&Usage::reserved), "peak_reserved"},
      {"peak_allocated_bytes", "peak allocated", right, scan_peak(&Usage::allocated),
       "peak_allocated"},
      {"peak_active_bytes", "peak active", right, scan_peak(&Usage::active), "peak_active"},
      {"fragmentation", "fragmentation", right,
       if_readable([](const ScanRow& row) { return share_or_blank(row.fragmentation); })},
      {"ooms", "ooms", right, if_readable(&ScanRow::ooms)},
      {"truncated", "truncated", left, if_readable(&ScanRow::truncated)},
      {"fidelity", "fidelity", right,
       if_readable([](const ScanRow& row) { return share_or_blank(row.fidelity); })},
      {"outlier_reserved", "", left, if_readable(&ScanRow::is_reserved_outlier)},
      {"outlier_allocated", "", left, if_readable(&ScanRow::is_allocated_outlier)},
      {"", "outlier", left, if_readable(outlier_words)},
      {"error", "error", left, scan_error_cell}};
  return kColumns;
}

std::string row_name(const ScanRow& row) {
  return row.rank ? fmt::format("rank {}", *row.rank) : row.file;
}

std::string spread_line(const Scan& scan, const Spread& spread, std::string_view what) {
  return fmt::format("peak {}: {} to {}, median {}; the highest ({}) is {:.2f} % above the mean",
                     what, to_iec(spread.lowest), to_iec(spread.highest), to_iec(spread.median),
                     row_name(scan.rows[spread.highest_row]), 100 * spread.imbalance());
}

boost::json::value spread_json(const std::optional<Spread>& spread) {
  if (!spread) {
    return nullptr;
  }
  return {{"lowest_bytes", spread->lowest.count()},   {"median_bytes", spread->median.count()},
          {"highest_bytes", spread->highest.count()}, {"mean_bytes", spread->mean},
          {"imbalance", spread->imbalance()},         {"highest_row", spread->highest_row}};
}

void add_summary(const Scan& scan, Report& report) {
  const auto outliers = std::ranges::count_if(scan.rows, [](const ScanRow& row) {
    return row.is_reserved_outlier || row.is_allocated_outlier;
  });
  if (scan.reserved) {
    report.line(spread_line(scan, *scan.reserved, "reserved"));
    report.line(spread_line(scan, *scan.allocated, "allocated"));
  }
  report.line(fmt::format("{} rows, {} unreadable, {} outliers", scan.rows.size(), scan.errors(),
                          outliers));
  report.value("unreadable", scan.errors());
  report.json("peak_reserved", [&] { return spread_json(scan.reserved); });
  report.json("peak_allocated", [&] { return spread_json(scan.allocated); });
}

}  // namespace

std::string scan_report(const Scan& scan, OutputFormat format) {
  Report report(format, "highwater.scan/1");
  report.rows("rows", tabulate("", scan_columns(), scan.rows), Gap::after_markdown);
  add_summary(scan, report);
  return report.str();
}

}  // namespace highwater
