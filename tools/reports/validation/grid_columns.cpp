#include "tools/reports/validation/grid_columns.hpp"

#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/validation/error_columns.hpp"
#include "tools/reports/validation/grid_report.hpp"
#include "tools/studies/estimates/compared_estimates.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

/// Text: the bias. JSON: all figures.
Cell covered_cell(const FormSummary& form) {
  Cell cell;
  cell.shown = form.covered.count == 0 ? "-" : percent_text(form.covered.bias);
  cell.json = [errors = form.covered]() -> boost::json::value { return error_json(errors); };
  return cell;
}

boost::json::value worst_json(const FormSummary& form) {
  if (form.worst == nullptr) {
    return nullptr;
  }
  const GridPoint& point = form.worst->point;
  return {{"label", valid_utf8(point.label)},
          {"error_vs_simulated", form.worst_error},
          {"command", valid_utf8(simulate_command_line(point, *form.formula))}};
}

template <class Make>
auto nested_in_form(Make make) {
  return [make](const FormSummary& form) {
    return nested([make, &form]() -> boost::json::value { return make(form); });
  };
}

Columns<FormSummary> make_form_columns() {
  using enum Align;
  Columns<FormSummary> columns{
      {"name", "form", left, [](const FormSummary& form) { return form.formula->name; }},
      {"about", "about", left,
       [](const FormSummary& form) { return to_string(form.formula->scope); }},
      {"compared_with", "against", left,
       [](const FormSummary& form) { return simulated_peak_name(form.formula->scope); }},
      {"", "points", right, [](const FormSummary& form) { return form.error.count; }},
      {"refused", "refused", right, &FormSummary::refused}};
  const Columns<FormSummary> errors =
      error_columns<FormSummary>({.key = "error_vs_simulated", .count = ""}, &FormSummary::error);
  columns.insert(columns.end(), errors.begin(), errors.end());
  columns.push_back({"error_vs_covered", "bias, same parts", right, covered_cell});
  columns.push_back({"error_vs_measured", "", right, nested_in_form([](const FormSummary& form) {
                       return error_json(form.measured);
                     })});
  columns.push_back({"breaks", "", left, nested_in_form([](const FormSummary& form) {
                       return rows_json(tabulate("", break_columns(), break_rows(form)));
                     })});
  columns.push_back({"worst", "", left, nested_in_form(worst_json)});
  return columns;
}

std::optional<Bytes> measured_bytes(const PointRow& row) {
  const auto& measured = row.result->point.measured;
  return measured ? std::optional(measured->bytes) : std::nullopt;
}

Cell measured_figure(const PointRow& row) {
  const auto& measured = row.result->point.measured;
  return measured ? Cell(to_string(measured->figure)) : Cell();
}

}  // namespace

const Columns<FormSummary>& form_columns() {
  static const Columns<FormSummary> kColumns = make_form_columns();
  return kColumns;
}

const Columns<BreakRow>& break_columns() {
  using enum Align;
  static const Columns<BreakRow> kColumns{
      {"", "form", left, [](const BreakRow& row) { return row.form->formula->name; }},
      {"axis", "", left, [](const BreakRow& row) { return row.at->axis; }},
      {"value", "", left, [](const BreakRow& row) { return row.at->value; }},
      {"", "where", left,
       [](const BreakRow& row) { return fmt::format("{}={}", row.at->axis, row.at->value); }},
      {"points", "points", right, [](const BreakRow& row) { return row.at->points; }},
      {"median", "error", right,
       [](const BreakRow& row) { return percent_cell(row.at->median, 1); }}};
  return kColumns;
}

std::vector<BreakRow> break_rows(const FormSummary& form) {
  std::vector<BreakRow> rows;
  for (const AxisValueError& at : form.breaks) {
    rows.push_back({&form, &at});
  }
  return rows;
}

const Columns<PointRow>& point_columns() {
  using enum Align;
  static const Columns<PointRow> kColumns{
      {"name", "form", left, [](const PointRow& row) { return row.estimate->formula->name; }},
      {"about", "about", left,
       [](const PointRow& row) { return to_string(row.estimate->formula->scope); }},
      {"bytes", "estimate_bytes", right,
       [](const PointRow& row) { return std::llround(row.estimate->bytes); }},
      {"compared_with", "against", left,
       [](const PointRow& row) { return simulated_peak_name(row.estimate->formula->scope); }},
      {"simulated_bytes", "simulated_bytes", right,
       [](const PointRow& row) { return row.estimate->simulated; }},
      {"error_vs_simulated", "error", right,
       [](const PointRow& row) { return row.estimate->error; }},
      {"covered_bytes", "covered_bytes", right,
       [](const PointRow& row) { return row.estimate->covered; }},
      {"error_vs_covered", "error_of_covered", right,
       [](const PointRow& row) { return row.estimate->error_of_covered; }},
      {"error_vs_measured", "", right,
       [](const PointRow& row) { return row.result->error_of(*row.estimate); }},
      {"", "measured_figure", left, measured_figure},
      {"", "measured_bytes", right, measured_bytes}};
  return kColumns;
}

std::vector<PointRow> point_rows(const GridResult& result) {
  std::vector<PointRow> rows;
  for (const GridEstimate& estimate : result.estimates) {
    rows.push_back({&result, &estimate});
  }
  return rows;
}

}  // namespace highwater
