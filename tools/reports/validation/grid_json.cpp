// The report of a grid as data.
#include <cmath>

#include <boost/json.hpp>

#include "tools/reports/validation/grid_report.hpp"
#include "tools/studies/compared_estimates.hpp"
#include "tools/studies/validation/grid_summary.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/plan/options/plan_json.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::object estimate_json(const GridResult& result, const GridEstimate& estimate) {
  const Formula& formula = *estimate.formula;
  return {{"name", formula.name},
          {"about", to_string(formula.scope)},
          {"bytes", std::llround(estimate.bytes)},
          {"compared_with", simulated_peak_name(formula.scope)},
          {"simulated_bytes", estimate.simulated.count()},
          {"error_vs_simulated", estimate.error},
          {"covered_bytes", estimate.covered.count()},
          {"error_vs_covered", number_or_null(estimate.error_of_covered)},
          {"error_vs_measured", number_or_null(result.error_of(estimate))}};
}

json::value measured_json(const GridResult& result) {
  if (!result.point.measured) {
    return nullptr;
  }
  const Measurement& measured = *result.point.measured;
  return json::object{{"figure", to_string(measured.figure)},
                      {"bytes", measured.bytes.count()},
                      {"simulated_bytes", result.simulated(measured.figure).count()},
                      {"error_of_simulation", *result.error_of_simulation()},
                      {"source", valid_utf8(measured.source)}};
}

json::object point_json(const GridResult& result) {
  json::object object{{"label", valid_utf8(result.point.label)},
                      {"plan", plan_json(result.point.run.plan)},
                      {"peak",
                       {{"allocated_bytes", result.allocated.count()},
                        {"reserved_bytes", result.reserved.count()},
                        {"process_bytes", result.process.count()}}},
                      {"measured", measured_json(result)}};
  json::array estimates;
  for (const GridEstimate& estimate : result.estimates) {
    estimates.push_back(estimate_json(result, estimate));
  }
  object["estimates"] = std::move(estimates);
  json::array refused;
  for (const GridRefusal& refusal : result.refused) {
    refused.push_back({{"name", refusal.formula->name}, {"reason", refusal.reason}});
  }
  object["not_applicable"] = std::move(refused);
  return object;
}

json::value worst_json(const FormSummary& summary) {
  if (summary.worst == nullptr) {
    return nullptr;
  }
  const GridPoint& point = summary.worst->point;
  return json::object{{"label", valid_utf8(point.label)},
                      {"error_vs_simulated", summary.worst_error},
                      {"command", valid_utf8(simulate_command_line(point, *summary.formula))}};
}

json::object form_json(const FormSummary& summary) {
  const Formula& formula = *summary.formula;
  json::array breaks;
  for (const AxisValueError& value : summary.breaks) {
    breaks.push_back({{"axis", value.axis},
                      {"value", valid_utf8(value.value)},
                      {"points", value.points},
                      {"median", value.median}});
  }
  return {{"name", formula.name},
          {"about", to_string(formula.scope)},
          {"compared_with", simulated_peak_name(formula.scope)},
          {"refused", summary.refused},
          {"error_vs_simulated", error_json(summary.error)},
          {"error_vs_covered", error_json(summary.covered)},
          {"error_vs_measured", error_json(summary.measured)},
          {"breaks", std::move(breaks)},
          {"worst", worst_json(summary)}};
}

json::object summary_json(const GridRun& run) {
  json::array forms;
  for (const FormSummary& summary : summarise_forms(run.results)) {
    forms.push_back(form_json(summary));
  }
  return {{"points", run.results.size()},
          {"skipped", run.skipped.size()},
          {"estimates", std::move(forms)},
          {"simulation_vs_measured", error_json(summarise_simulation(run.results))}};
}

}  // namespace

json::object grid_json(const GridRun& run) {
  json::object root{{"schema", "highwater.validate/1"}, {"kind", "grid"}};
  root["axes"] = words_json(varying_axes(run.results));
  json::array points;
  for (const GridResult& result : run.results) {
    points.push_back(point_json(result));
  }
  root["points"] = std::move(points);
  json::array skipped;
  for (const SkippedPoint& point : run.skipped) {
    skipped.push_back({{"label", valid_utf8(point.label)}, {"reasons", words_json(point.reasons)}});
  }
  root["skipped"] = std::move(skipped);
  root["summary"] = summary_json(run);
  root["trust"] = valid_utf8(grid_trust_line(run));
  return root;
}

}  // namespace highwater
