#include "tools/reports/scan/scan_report.hpp"

#include <algorithm>
#include <cmath>
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
  if (row.is_growth_outlier) {
    words += words.empty() ? "growth" : " growth";
  }
  return words;
}

Cell scan_rank_cell(const ScanRow& row) {
  return row.rank ? Cell(*row.rank) : Cell::blank();
}

Cell scan_error_cell(const ScanRow& row) {
  return row.is_error() ? Cell(row.error) : Cell();
}

/// Where three steps cannot be told, growth is unknown.
Cell scan_growth_cell(const ScanRow& row) {
  constexpr std::uint64_t kFewestSteps = 3;
  if (row.growth.steps < kFewestSteps) {
    return Cell::blank();
  }
  const double growth = row.growth.live.per_step;
  return Cell(growth).shown_as(size_change_text(std::llround(growth)));
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

Cell fidelity_cell(const ScanRow& row) {
  return row.fidelity ? percent_cell(*row.fidelity, 2)
                      : Cell::blank().shown_as("nothing to compare");
}

std::string row_name(const ScanRow& row) {
  return row.rank ? fmt::format("rank {}", *row.rank) : row.file;
}

}  // namespace

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
      {"steps", "", right, if_readable([](const ScanRow& row) { return row.growth.steps; })},
      {"growth_bytes_per_step", "growth per step", right, if_readable(scan_growth_cell),
       "growth_per_step"},
      {"ooms", "ooms", right, if_readable(&ScanRow::ooms)},
      {"truncated", "truncated", left, if_readable(&ScanRow::truncated)},
      {"fidelity", "fidelity", right, if_readable(fidelity_cell)},
      {"outlier_reserved", "", left, if_readable(&ScanRow::is_reserved_outlier)},
      {"outlier_allocated", "", left, if_readable(&ScanRow::is_allocated_outlier)},
      {"outlier_growth", "", left, if_readable(&ScanRow::is_growth_outlier)},
      {"", "outlier", left, if_readable(outlier_words)},
      {"error", "error", left, scan_error_cell}};
  return kColumns;
}

namespace {

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

/// A difference with the scan whose row and name it refers to.
struct ShownDifference {
  const Scan* scan;
  RankDifference difference;

  [[nodiscard]] const ScanRow& row() const { return scan->rows[difference.row]; }
};

Cell change_cell(const ShownDifference& shown) {
  const auto bytes = static_cast<std::int64_t>(shown.difference.bytes.count());
  const auto usual = static_cast<std::int64_t>(shown.difference.usual.count());
  return Cell(bytes - usual).shown_as(size_change_text(bytes - usual));
}

const Columns<ShownDifference>& difference_columns() {
  using enum Align;
  using Shown = const ShownDifference&;
  static const Columns<ShownDifference> kColumns{
      {"file", "", left, [](Shown shown) { return Cell(shown.row().file); }},
      {"rank", "", right, [](Shown shown) { return scan_rank_cell(shown.row()); }},
      {"", "who", left, [](Shown shown) { return Cell(row_name(shown.row())); }},
      {"device", "device", right, [](Shown shown) { return Cell(shown.row().device); }},
      {"kind", "differs in", left,
       [](Shown shown) { return Cell(to_string(shown.difference.by)); }},
      {"name", "", left,
       [](Shown shown) { return Cell(shown.scan->names[shown.difference.name]); }},
      {"", "name", left,
       [](Shown shown) { return Cell(shown.scan->names[shown.difference.name]); }},
      {"bytes", "holds", right, [](Shown shown) { return Cell(shown.difference.bytes); }},
      {"usual_bytes", "the others", right,
       [](Shown shown) { return Cell(shown.difference.usual); }},
      {"difference_bytes", "difference", right, change_cell}};
  return kColumns;
}

std::vector<ShownDifference> shown_differences(const Scan& scan) {
  std::vector<ShownDifference> list;
  for (const RankDifference& difference : scan.differences) {
    list.push_back({&scan, difference});
  }
  return list;
}

/// For people the first that fit on a page.
void add_differences(const Scan& scan, Report& report) {
  constexpr std::size_t kShown = 40;
  const std::vector<ShownDifference> all = shown_differences(scan);
  std::vector<ShownDifference> first = all;
  first.resize(std::min(all.size(), kShown), ShownDifference{});
  report.table(tabulate("What outliers hold more or less of at the highest live bytes",
                        difference_columns(), first));
  if (first.size() < all.size()) {
    report.line(fmt::format("... {} more: --format json, --sqlite", all.size() - first.size()));
  }
  report.json("differences", [&] { return rows_json(tabulate("", difference_columns(), all)); });
}

void add_summary(const Scan& scan, Report& report) {
  const auto outliers = std::ranges::count_if(scan.rows, &ScanRow::is_outlier);
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
  add_differences(scan, report);
  add_summary(scan, report);
  return report.str();
}

std::string scan_lines(const Scan& scan) {
  std::string lines;
  for (const ScanRow& row : scan.rows) {
    boost::json::object line{{"schema", "highwater.scan/1"}};
    for (const Column<ScanRow>& column : scan_columns()) {
      if (!column.key.empty()) {
        set_member(line, column.key, column.cell(row));
      }
    }
    boost::json::array& held = line["held"].emplace_array();
    for (const HeldShare& share : row.held) {
      held.push_back({{"kind", to_string(share.by)},
                      {"name", scan.names[share.name]},
                      {"bytes", share.bytes.count()}});
    }
    lines += boost::json::serialize(line) + "\n";
  }
  return lines;
}

}  // namespace highwater
