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

std::string percent_or_dash(const std::optional<double>& fraction) {
  return fraction ? percent_text(*fraction) : "-";
}

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value(nullptr);
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

/// The largest holders below a line that the form does not meet.
void add_details(const ReconciliationLine& line, TextTable& table) {
  if (line.difference() == 0) {
    return;
  }
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, line.details.size()); ++i) {
    const Holder<std::string>& detail = line.details[i];
    table.rows.push_back({"    " + detail.origin, "", "", to_iec(detail.held), ""});
  }
  if (line.details.size() > kShown) {
    Bytes rest;
    for (std::size_t i = kShown; i < line.details.size(); ++i) {
      rest += line.details[i].held;
    }
    table.rows.push_back(
        {fmt::format("    {} others", line.details.size() - kShown), "", "", to_iec(rest), ""});
  }
}

}  // namespace

TextTable comparison_table(const EstimateComparison& comparison) {
  TextTable table{
      comparison.is_complete ? "Closed forms beside the simulation"
                             : "Closed forms beside the simulation, up to where memory ran out",
      {"form", "about", "estimate", "same parts simulated", "off by", "simulated peak", "off by"},
      {},
      {false, false, true, true, true, true, true}};
  for (const ComparedEstimate& compared : comparison.compared) {
    const Formula& formula = *compared.outcome.formula;
    table.rows.push_back(
        {std::string(formula.name), std::string(to_string(formula.scope)),
         bytes_text(compared.bytes()), to_iec(compared.covered),
         percent_or_dash(compared.error_of_covered()),
         fmt::format("{} {}", to_iec(compared.peak), simulated_peak_name(formula.scope)),
         percent_or_dash(compared.error())});
  }
  return table;
}

TextTable reconciliation_table(const ComparedEstimate& compared) {
  const Reconciliation& reconciliation = compared.reconciliation;
  TextTable table{
      fmt::format("From {} to the simulated process, part by part", compared.outcome.formula->name),
      {"part", "estimated", "to add", "simulated", ""},
      {},
      {false, true, true, true, false}};
  std::int64_t largest = 0;
  for (const ReconciliationLine& line : reconciliation.lines) {
    largest = std::max(largest, std::abs(line.difference()));
  }
  for (const ReconciliationLine& line : reconciliation.lines) {
    table.rows.push_back(
        {line.name, line.terms.empty() ? "-" : bytes_text(static_cast<double>(line.estimated)),
         to_iec_signed(line.difference()), bytes_text(static_cast<double>(line.simulated)),
         bar(line.difference(), largest)});
    add_details(line, table);
  }
  table.rows.push_back({"total", bytes_text(static_cast<double>(reconciliation.estimated)),
                        to_iec_signed(reconciliation.difference()),
                        bytes_text(static_cast<double>(reconciliation.simulated)), ""});
  return table;
}

json::array comparison_json(const EstimateComparison& comparison) {
  json::array array;
  for (const ComparedEstimate& compared : comparison.compared) {
    json::object object = outcome_json(compared.outcome);
    object["compared_with"] = simulated_peak_name(compared.outcome.formula->scope);
    object["simulated_peak_bytes"] = compared.peak.count();
    object["difference_bytes"] =
        std::llround(compared.bytes()) - static_cast<std::int64_t>(compared.peak.count());
    object["error_vs_simulated"] = number_or_null(compared.error());
    object["covered_bytes"] = compared.covered.count();
    object["error_vs_covered"] = number_or_null(compared.error_of_covered());
    object["bridge"] = reconciliation_json(compared.reconciliation);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace highwater
