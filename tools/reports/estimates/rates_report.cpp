#include "tools/reports/estimates/rates_report.hpp"

#include <map>

#include <fmt/format.h>

#include "tools/studies/rates/published_rates.hpp"
#include "tools/text/report.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

Cell rate_cell(double rate) {
  return Cell(rate).shown_as(fmt::format("{:.0f}", rate));
}

const Columns<PublishedRate>& columns() {
  using enum Align;
  static const Columns<PublishedRate> kColumns{
      {"name", "run", left, [](const PublishedRate& rate) { return rate.name; }},
      {"gpu", "GPU", left, [](const PublishedRate& rate) { return rate.plan.gpu.name; }},
      {"gpus", "GPUs", right, [](const PublishedRate& rate) { return rate.plan.parallel.gpus(); }},
      {"published", "published", right,
       [](const PublishedRate& rate) { return rate_cell(rate.measured); }},
      {"estimated", "model of time", right,
       [](const PublishedRate& rate) { return rate_cell(rate.estimated); }},
      {"share", "share", right,
       [](const PublishedRate& rate) { return percent_cell(rate.share(), 0); }},
      {"about", "", left, [](const PublishedRate& rate) { return rate.about; }},
      {"source", "source", left, [](const PublishedRate& rate) { return rate.source; }}};
  return kColumns;
}

/// By what they are of; each once.
std::map<std::string, UsualShares> intervals() {
  std::map<std::string, UsualShares> by_kind;
  for (const PublishedRate& rate : published_rates()) {
    UsualShares shares = usual_shares(rate.plan);
    by_kind.emplace(shares.kind, std::move(shares));
  }
  return by_kind;
}

Table interval_table() {
  using enum Align;
  static const Columns<UsualShares> kColumns{
      {"kind", "kind", left, [](const UsualShares& shares) { return shares.kind; }},
      {"runs", "runs", right, [](const UsualShares& shares) { return shares.runs; }},
      {"least", "from", right,
       [](const UsualShares& shares) { return percent_cell(shares.least, 0); }},
      {"most", "to", right,
       [](const UsualShares& shares) { return percent_cell(shares.most, 0); }}};
  std::vector<UsualShares> rows;
  for (const auto& [kind, shares] : intervals()) {
    rows.push_back(shares);
  }
  return tabulate("Shares of the model of time that plan shows as an interval", kColumns, rows);
}

}  // namespace

std::string rates_report(OutputFormat format) {
  Report report(format, "highwater.plan_rates/1");
  const Table runs =
      tabulate("Published throughputs, in tokens per second and GPU", columns(), published_rates());
  report.rows("runs", runs);
  report.rows("intervals", interval_table());
  return report.str();
}

}  // namespace highwater
