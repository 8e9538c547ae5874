// The nested part of a grid's report: every point with its estimates, and the summary.
#include <boost/json.hpp>

#include "tools/reports/validation/error_columns.hpp"
#include "tools/reports/validation/grid_columns.hpp"
#include "tools/reports/validation/grid_report.hpp"
#include "tools/studies/validation/grid_summary.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/plan/options/plan_json.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

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
  object["estimates"] = rows_json(tabulate("", point_columns(), point_rows(result)));
  json::array refused;
  for (const GridRefusal& refusal : result.refused) {
    refused.push_back({{"name", refusal.formula->name}, {"reason", refusal.reason}});
  }
  object["not_applicable"] = std::move(refused);
  return object;
}

json::object summary_json(const GridRun& run, const std::vector<FormSummary>& forms) {
  return {{"points", run.results.size()},
          {"skipped", run.skipped.size()},
          {"estimates", rows_json(tabulate("", form_columns(), forms))},
          {"simulation_vs_measured", error_json(summarise_simulation(run.results))}};
}

json::array points_json(const GridRun& run) {
  json::array points;
  for (const GridResult& result : run.results) {
    points.push_back(point_json(result));
  }
  return points;
}

json::array skipped_json(const GridRun& run) {
  json::array skipped;
  for (const SkippedPoint& point : run.skipped) {
    skipped.push_back({{"label", valid_utf8(point.label)}, {"reasons", words_json(point.reasons)}});
  }
  return skipped;
}

}  // namespace

void add_grid_json(const GridRun& run, const std::vector<FormSummary>& forms, Report& report) {
  report.value("kind", "grid");
  report.json("axes", [&] { return words_json(varying_axes(run.results)); });
  report.json("points", [&] { return points_json(run); });
  report.json("skipped", [&] { return skipped_json(run); });
  report.json("summary", [&] { return summary_json(run, forms); });
  report.value("trust", grid_trust_line(run));
}

}  // namespace highwater
