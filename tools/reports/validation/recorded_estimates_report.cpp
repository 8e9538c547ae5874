#include "tools/reports/validation/recorded_estimates_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

#include "tools/reports/validation/error_columns.hpp"
#include "tools/studies/estimates/compared_estimates.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

struct FormErrors {
  const Formula* formula = nullptr;
  ErrorSummary form;
  ErrorSummary simulation;  ///< on the same cases, of the same figure
};

FormErrors errors_of(const Formula& formula, const std::vector<CaseValidation>& cases) {
  std::vector<double> form;
  std::vector<double> simulation;
  for (const CaseValidation& validation : cases) {
    const auto found =
        std::ranges::find(validation.estimates, &formula, &RecordedEstimate::formula);
    if (found != validation.estimates.end()) {
      form.push_back(found->error());
      simulation.push_back(found->error_of_simulation());
    }
  }
  return {&formula, summarise_errors(std::move(form)), summarise_errors(std::move(simulation))};
}

/// Of the forms that apply to a case at least.
std::vector<FormErrors> errors_by_form(const std::vector<CaseValidation>& cases) {
  std::vector<FormErrors> errors;
  for (const Formula* formula : formulas()) {
    if (FormErrors of_form = errors_of(*formula, cases); of_form.form.count > 0) {
      errors.push_back(of_form);
    }
  }
  return errors;
}

Columns<FormErrors> form_error_columns() {
  using enum Align;
  Columns<FormErrors> columns{
      {"name", "form", left, [](const FormErrors& errors) { return errors.formula->name; }},
      {"about", "about", left,
       [](const FormErrors& errors) { return to_string(errors.formula->scope); }},
      {"compared_with", "against", left,
       [](const FormErrors& errors) { return simulated_peak_name(errors.formula->scope); }}};
  for (const Columns<FormErrors>& more :
       {error_columns<FormErrors>({.key = "error_vs_recorded", .count = "cases"},
                                  &FormErrors::form),
        error_columns<FormErrors>(
            {.key = "simulation_error_vs_recorded", .median = "simulation median", .decimals = 3},
            &FormErrors::simulation)}) {
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return columns;
}

}  // namespace

Table recorded_estimate_table(const std::vector<CaseValidation>& cases) {
  static const Columns<FormErrors> kColumns = form_error_columns();
  return tabulate(
      "Closed forms and the simulation against the recorded peak of the whole run (allocated; "
      "process: reserved plus an estimated context)",
      kColumns, errors_by_form(cases));
}

json::array recorded_estimates_json(const CaseValidation& validation) {
  json::array array;
  for (const RecordedEstimate& estimate : validation.estimates) {
    const Formula& formula = *estimate.formula;
    array.push_back({{"name", formula.name},
                     {"about", to_string(formula.scope)},
                     {"bytes", std::llround(estimate.bytes)},
                     {"compared_with", simulated_peak_name(formula.scope)},
                     {"recorded_bytes", estimate.recorded.count()},
                     {"simulated_bytes", estimate.simulated.count()},
                     {"error_vs_recorded", estimate.error()},
                     {"simulation_error_vs_recorded", estimate.error_of_simulation()}});
  }
  return array;
}

}  // namespace highwater
