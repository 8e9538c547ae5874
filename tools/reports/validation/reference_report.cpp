#include "tools/reports/validation/reference_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// A figure for people: whole numbers in full, others with nine digits.
std::string shown_figure(const json::value& value) {
  if (value.is_string()) {
    return std::string(value.get_string());
  }
  if (!value.is_number()) {
    return "-";
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const double number = value.to_number<double>();
  const bool is_whole = std::trunc(number) == number && std::abs(number) < kExact;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.9g}", number);
}

std::string exact_figure(const json::value& value) {
  if (value.is_double()) {
    return fmt::format("{}", value.get_double());
  }
  return value.is_null() ? "" : shown_figure(value);
}

/// A number or a word; absent: "-" for people, null in JSON.
Cell figure_cell(const json::value* value) {
  if (value == nullptr) {
    return std::monostate();
  }
  Cell cell = nested([value] { return *value; });
  cell.shown = shown_figure(*value);
  cell.exact = exact_figure(*value);
  return cell;
}

/// The largest difference of a case, or "-" if it has no numbers.
std::string worst_difference(const ReferenceResult& result) {
  std::optional<double> worst;
  for (const ReferenceValue& value : result.values) {
    if (const auto difference = difference_of(value)) {
      worst = std::max(worst.value_or(0), std::abs(*difference));
    }
  }
  return worst ? fmt::format("{:.1e}", *worst) : "-";
}

const std::string& explanation(const ReferenceCase& reference) {
  return reference.notes.empty() ? reference.formula : reference.notes;
}

std::uint64_t count_known_mismatches(const std::vector<ReferenceResult>& results) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(results, &ReferenceResult::is_known_mismatch));
}

/// A figure of a case; without one, the case that nothing recomputed.
struct FigureRow {
  const ReferenceResult* result = nullptr;
  const ReferenceValue* value = nullptr;

  [[nodiscard]] const ExpectedValue* expected() const {
    return value == nullptr ? nullptr : value->expected;
  }

  [[nodiscard]] const std::string& problem() const {
    return value == nullptr ? result->problem : value->problem;
  }
};

json::value source_json(const FigureRow& row) {
  return {{"value", row.expected()->value},
          {"unit", valid_utf8(row.expected()->unit)},
          {"tolerance", row.expected()->tolerance},
          {"agrees", row.value->agrees_with_source}};
}

/// Text: the figure alone.
Cell source_cell(const FigureRow& row) {
  const ExpectedValue* expected = row.expected();
  if (expected == nullptr) {
    return std::monostate();
  }
  Cell cell = figure_cell(&expected->value);
  cell.json = [row] { return source_json(row); };
  return cell;
}

/// null in JSON where all is well.
Cell problem_cell(const std::string& problem) {
  return problem.empty() ? Cell::blank() : Cell(problem);
}

/// Every column that a table of figures has; each table picks its own.
const Columns<FigureRow>& figure_columns() {
  using enum Align;
  using Row = FigureRow;
  static const Columns<Row> kColumns{
      {"", "case", left, [](const Row& row) { return row.result->reference->id; }},
      {"", "kind", left, [](const Row& row) { return to_string(row.result->reference->kind); }},
      {"name", "figure", left,
       [](const Row& row) {
         return row.value == nullptr ? Cell(std::monostate()) : Cell(row.value->name);
       }},
      {"", "unit", left,
       [](const Row& row) { return row.expected() == nullptr ? "" : row.expected()->unit; }},
      {"source", "source", right, source_cell},
      {"", "tolerance", right,
       [](const Row& row) {
         return row.expected() == nullptr ? Cell() : Cell(row.expected()->tolerance);
       }},
      {"reference", "reference", right,
       [](const Row& row) {
         return figure_cell(row.value == nullptr ? nullptr : row.value->reference);
       }},
      {"computed", "computed", right,
       [](const Row& row) {
         return figure_cell(row.value == nullptr ? nullptr : &row.value->computed);
       }},
      {"", "result", left, [](const Row& row) { return to_string(row.result->verdict); }},
      {"problem", "problem", left, [](const Row& row) { return problem_cell(row.problem()); }},
      {"", "note", left, [](const Row& row) { return explanation(*row.result->reference); }}};
  return kColumns;
}

std::vector<FigureRow> figure_rows(const ReferenceResult& result) {
  std::vector<FigureRow> rows;
  for (const ReferenceValue& value : result.values) {
    rows.push_back({&result, &value});
  }
  return rows;
}

/// The figures of all cases that `wanted` takes.
template <class Wanted>
std::vector<FigureRow> figures_where(const std::vector<ReferenceResult>& results, Wanted wanted) {
  std::vector<FigureRow> rows;
  for (const ReferenceResult& result : results) {
    std::ranges::copy_if(figure_rows(result), std::back_inserter(rows), wanted);
  }
  return rows;
}

json::array values_json(const ReferenceResult& result) {
  const auto columns =
      pick(figure_columns(), {"figure", "computed", "reference", "source", "problem"});
  return rows_json(tabulate("", columns, figure_rows(result)));
}

auto case_text(std::string ReferenceCase::*member) {
  return [member](const ReferenceResult& result) { return result.reference->*member; };
}

const Columns<ReferenceResult>& reference_case_columns() {
  using enum Align;
  using Result = ReferenceResult;
  static const Columns<Result> kColumns{
      {"id", "case", left, case_text(&ReferenceCase::id)},
      {"source", "", left, case_text(&ReferenceCase::source)},
      {"formula", "", left, case_text(&ReferenceCase::formula)},
      {"notes", "", left, case_text(&ReferenceCase::notes)},
      {"kind", "kind", left,
       [](const Result& result) { return to_string(result.reference->kind); }},
      {"", "figures", right, [](const Result& result) { return result.values.size(); }},
      {"", "difference", right, worst_difference},
      {"result", "result", left, [](const Result& result) { return to_string(result.verdict); }},
      {"known_mismatch", "", left, &Result::is_known_mismatch},
      {"problem", "", left, [](const Result& result) { return problem_cell(result.problem); }},
      {"values", "", left, [](const Result& result) {
         return nested([&result]() -> json::value { return values_json(result); });
       }}};
  return kColumns;
}

/// One row per case.
Table reference_case_table(const std::vector<ReferenceResult>& results) {
  return tabulate("Closed forms against published figures and a second implementation",
                  reference_case_columns(), results);
}

/// One row per figure, for CSV.
Table value_table(const std::vector<ReferenceResult>& results) {
  std::vector<FigureRow> rows;
  for (const ReferenceResult& result : results) {
    const std::vector<FigureRow> more =
        result.values.empty() ? std::vector<FigureRow>{{&result, nullptr}} : figure_rows(result);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  const auto columns =
      pick(figure_columns(), {"case", "kind", "figure", "unit", "source", "tolerance", "reference",
                              "computed", "result", "problem"});
  return tabulate("", columns, rows);
}

/// Figures that differ from what they should be, and cases that nothing recomputed.
Table failure_table(const std::vector<ReferenceResult>& results) {
  std::vector<FigureRow> rows;
  for (const ReferenceResult& result : results) {
    if (!result.problem.empty()) {
      rows.push_back({&result, nullptr});
    }
    std::ranges::copy_if(figure_rows(result), std::back_inserter(rows),
                         [](const FigureRow& row) { return !row.problem().empty(); });
  }
  const auto columns =
      pick(figure_columns(), {"case", "figure", "source", "reference", "computed", "problem"});
  return tabulate("Failed", columns, rows);
}

/// Figures that the sources print and their formulas do not give.
Table known_mismatch_table(const std::vector<ReferenceResult>& results) {
  const auto columns =
      pick(figure_columns(), {"case", "figure", "source", "computed", "unit", "note"});
  return tabulate("Known mismatches: the source's figure does not follow from its formulas",
                  columns, figures_where(results, [](const FigureRow& row) {
                    return row.result->is_known_mismatch() && !row.value->agrees_with_source;
                  }));
}

/// Figures that are quoted only.
Table observation_table(const std::vector<ReferenceResult>& results) {
  const auto columns = pick(figure_columns(), {"case", "figure", "source", "unit", "note"});
  return tabulate("Observations, not counted", columns,
                  figures_where(results, [](const FigureRow& row) {
                    return row.result->verdict == ReferenceVerdict::shown;
                  }));
}

json::object reference_summary_json(const std::vector<ReferenceResult>& results) {
  return {{"passed", count_results(results, ReferenceVerdict::passed)},
          {"failed", count_results(results, ReferenceVerdict::failed)},
          {"observations", count_results(results, ReferenceVerdict::shown)},
          {"known_mismatches", count_known_mismatches(results)}};
}

}  // namespace

std::uint64_t count_results(const std::vector<ReferenceResult>& results, ReferenceVerdict verdict) {
  return static_cast<std::uint64_t>(
      std::ranges::count(results, verdict, &ReferenceResult::verdict));
}

std::string reference_report(const std::vector<ReferenceResult>& results, OutputFormat format) {
  Report report(format, "highwater.validate/1");
  report.table(reference_case_table(results));
  report.table(observation_table(results));
  report.table(known_mismatch_table(results));
  report.table(failure_table(results));
  report.line(fmt::format("{} passed, {} failed", count_results(results, ReferenceVerdict::passed),
                          count_results(results, ReferenceVerdict::failed)));
  report.csv([&] { return value_table(results); });
  report.json("reference_cases", [&] { return rows_json(reference_case_table(results)); });
  report.json("summary", [&] { return reference_summary_json(results); });
  return report.str();
}

}  // namespace highwater
