#include "tools/reports/validation/recorded_estimates_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/studies/compared_estimates.hpp"

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

}  // namespace

TextTable recorded_estimate_table(const std::vector<CaseValidation>& cases) {
  TextTable table{
      "Closed forms against the recorded peak of the whole run (allocated; process: reserved and "
      "an estimated context), and the simulation against the same",
      {"form", "about", "against", "cases", "median", "p95", "worst", "bias", "simulation median",
       "p95", "worst", "bias"},
      {},
      {false, false, false, true, true, true, true, true, true, true, true, true}};
  for (const FormErrors& errors : errors_by_form(cases)) {
    const Formula& formula = *errors.formula;
    std::vector<std::string> row{std::string(formula.name), std::string(to_string(formula.scope)),
                                 std::string(simulated_peak_name(formula.scope)),
                                 std::to_string(errors.form.count)};
    std::ranges::move(error_cells(errors.form, 1), std::back_inserter(row));
    std::ranges::move(error_cells(errors.simulation, 3), std::back_inserter(row));
    table.rows.push_back(std::move(row));
  }
  return table;
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

json::array recorded_estimate_summary_json(const std::vector<CaseValidation>& cases) {
  json::array array;
  for (const FormErrors& errors : errors_by_form(cases)) {
    array.push_back({{"name", errors.formula->name},
                     {"about", to_string(errors.formula->scope)},
                     {"compared_with", simulated_peak_name(errors.formula->scope)},
                     {"error_vs_recorded", error_json(errors.form)},
                     {"simulation_error_vs_recorded", error_json(errors.simulation)}});
  }
  return array;
}

}  // namespace highwater
