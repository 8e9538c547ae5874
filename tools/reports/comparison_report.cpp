#include "tools/reports/comparison_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/estimate_report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// "-" where there is nothing to compare with.
Cell error_or_dash(const std::optional<double>& error) {
  return Cell(error).shown_as(error ? percent_text(*error) : "-");
}

constexpr std::size_t kDetailsShown = 5;

json::object line_json(const ReconciliationLine& line) {
  json::object object{{"name", line.name},
                      {"terms", words_json(line.terms)},
                      {"estimated_bytes", line.estimated},
                      {"simulated_bytes", line.simulated},
                      {"to_add_bytes", line.difference()}};
  json::array details;
  for (std::size_t i = 0; i < std::min(kDetailsShown, line.details.size()); ++i) {
    details.push_back({{"what", valid_utf8(line.details[i].origin)},
                       {"bytes", line.details[i].held.count()},
                       {"blocks", line.details[i].blocks}});
  }
  object["largest"] = std::move(details);
  return object;
}

json::object reconciliation_json(const Reconciliation& reconciliation) {
  json::object object{{"estimated_bytes", reconciliation.estimated},
                      {"simulated_bytes", reconciliation.simulated},
                      {"to_add_bytes", reconciliation.difference()}};
  json::array lines;
  for (const ReconciliationLine& line : reconciliation.lines) {
    lines.push_back(line_json(line));
  }
  object["lines"] = std::move(lines);
  return object;
}

/// A bar to the right of the middle for what a form lacks, to the left for what it has too much.
std::string bar(std::int64_t value, std::int64_t largest) {
  constexpr std::size_t kWidth = 20;
  if (value == 0) {
    return std::string(kWidth, ' ') + "|";
  }
  const double share = std::abs(static_cast<double>(value)) / static_cast<double>(largest);
  const auto length = std::max(
      std::size_t{1}, static_cast<std::size_t>(std::lround(share * static_cast<double>(kWidth))));
  return value < 0 ? std::string(kWidth - length, ' ') + std::string(length, '<') + "|"
                   : std::string(kWidth, ' ') + "|" + std::string(length, '>');
}

/// A part, a holder of it, or the total.
struct ReconciliationRow {
  std::string part;
  std::string estimated;
  std::string to_add;
  std::string simulated;
  std::string bar;
};

/// The largest holders below a line that the form does not meet.
void add_details(const ReconciliationLine& line, std::vector<ReconciliationRow>& rows) {
  if (line.difference() == 0) {
    return;
  }
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, line.details.size()); ++i) {
    const Holder<std::string>& detail = line.details[i];
    rows.push_back({"    " + detail.origin, "", "", to_iec(detail.held), ""});
  }
  if (line.details.size() > kShown) {
    Bytes rest;
    for (std::size_t i = kShown; i < line.details.size(); ++i) {
      rest += line.details[i].held;
    }
    rows.push_back(
        {fmt::format("    {} others", line.details.size() - kShown), "", "", to_iec(rest), ""});
  }
}

std::vector<ReconciliationRow> reconciliation_rows(const Reconciliation& reconciliation) {
  const auto size = [](std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  std::int64_t largest = 0;
  for (const ReconciliationLine& line : reconciliation.lines) {
    largest = std::max(largest, std::abs(line.difference()));
  }
  std::vector<ReconciliationRow> rows;
  for (const ReconciliationLine& line : reconciliation.lines) {
    rows.push_back({line.name, line.terms.empty() ? "-" : size(line.estimated),
                    to_iec_signed(line.difference()), size(line.simulated),
                    bar(line.difference(), largest)});
    add_details(line, rows);
  }
  rows.push_back({"total", size(reconciliation.estimated),
                  to_iec_signed(reconciliation.difference()), size(reconciliation.simulated), ""});
  return rows;
}

Cell compared_peak_cell(const ComparedEstimate& compared) {
  const FormulaScope scope = compared.outcome.formula->scope;
  return Cell(compared.peak)
      .shown_as(fmt::format("{} {}", to_iec(compared.peak), simulated_peak_name(scope)));
}

const Columns<ComparedEstimate>& comparison_columns() {
  using enum Align;
  using Row = ComparedEstimate;
  static const Columns<Row> kColumns{
      {"", "form", left, [](const Row& row) { return row.outcome.formula->name; }},
      {"", "about", left, [](const Row& row) { return to_string(row.outcome.formula->scope); }},
      {"", "estimate", right, [](const Row& row) { return bytes_text(row.bytes()); }},
      {"compared_with", "", left,
       [](const Row& row) { return simulated_peak_name(row.outcome.formula->scope); }},
      {"simulated_peak_bytes", "simulated peak", right, compared_peak_cell},
      {"difference_bytes", "", right,
       [](const Row& row) {
         return std::llround(row.bytes()) - static_cast<std::int64_t>(row.peak.count());
       }},
      {"error_vs_simulated", "off by", right,
       [](const Row& row) { return error_or_dash(row.error()); }},
      {"covered_bytes", "same parts simulated", right, [](const Row& row) { return row.covered; }},
      {"error_vs_covered", "off by", right,
       [](const Row& row) { return error_or_dash(row.error_of_covered()); }},
      {"bridge", "", left, [](const Row& row) {
         return nested([&row]() -> json::value { return reconciliation_json(row.reconciliation); });
       }}};
  return kColumns;
}

}  // namespace

Table comparison_table(const EstimateComparison& comparison) {
  const auto columns =
      pick(comparison_columns(), {"form", "about", "estimate", "covered_bytes", "error_vs_covered",
                                  "simulated_peak_bytes", "error_vs_simulated"});
  return tabulate(comparison.is_complete
                      ? "Closed forms compared with the simulation"
                      : "Closed forms compared with the simulation, up to where memory ran out",
                  columns, comparison.compared);
}

Table reconciliation_table(const ComparedEstimate& compared) {
  using enum Align;
  static const Columns<ReconciliationRow> kColumns{
      {"", "part", left, &ReconciliationRow::part},
      {"", "estimated", right, &ReconciliationRow::estimated},
      {"", "to add", right, &ReconciliationRow::to_add},
      {"", "simulated", right, &ReconciliationRow::simulated},
      {"", "", left, &ReconciliationRow::bar}};
  return tabulate(
      fmt::format("From {} to the simulated process, part by part", compared.outcome.formula->name),
      kColumns, reconciliation_rows(compared.reconciliation));
}

json::array comparison_json(const EstimateComparison& comparison) {
  json::array array;
  for (const ComparedEstimate& compared : comparison.compared) {
    json::object object = outcome_json(compared.outcome);
    for (auto& [key, value] : row_json(comparison_columns(), compared)) {
      object[key] = std::move(value);
    }
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace highwater
