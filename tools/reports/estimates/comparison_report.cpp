#include "tools/reports/estimates/comparison_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/reports/estimates/estimate_members.hpp"

namespace highwater {
namespace {

/// "-" where there is nothing to compare with.
std::string error_or_dash(const std::optional<double>& error) {
  return error ? percent_text(*error) : "-";
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

std::string compared_peak(const ComparedEstimate& compared) {
  return fmt::format("{} {}", to_iec(compared.peak),
                     simulated_peak_name(compared.outcome.formula->scope));
}

}  // namespace

Table comparison_table(const EstimateComparison& comparison) {
  using enum Align;
  using Row = ComparedEstimate;
  static const Columns<Row> kColumns{
      {"", "form", left, [](const Row& row) { return row.outcome.formula->name; }},
      {"", "about", left, [](const Row& row) { return to_string(row.outcome.formula->scope); }},
      {"", "estimate", right, [](const Row& row) { return bytes_text(row.bytes()); }},
      {"", "same parts simulated", right, &Row::covered},
      {"", "off by", right, [](const Row& row) { return error_or_dash(row.error_of_covered()); }},
      {"", "simulated peak", right, compared_peak},
      {"", "off by", right, [](const Row& row) { return error_or_dash(row.error()); }}};
  return tabulate(comparison.is_complete
                      ? "Closed forms compared with the simulation"
                      : "Closed forms compared with the simulation, up to where memory ran out",
                  kColumns, comparison.compared);
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

std::vector<Holder<std::string>> largest_of(const ReconciliationLine& line) {
  constexpr std::size_t kListed = 5;
  const auto end =
      line.details.begin() + static_cast<std::ptrdiff_t>(std::min(kListed, line.details.size()));
  return {line.details.begin(), end};
}

}  // namespace highwater
