// highwater explain: why it ran out of memory and what would have helped; else what holds memory.
#include <ostream>

#include <boost/json.hpp>

#include "tools/commands/commands.hpp"
#include "tools/options/workload_question.hpp"
#include "tools/reports/explain_report.hpp"
#include "tools/studies/explain_run.hpp"

namespace highwater {
namespace {

void write_json(const std::vector<Explanation>& explanations, std::ostream& out) {
  boost::json::object root{{"schema", "highwater.explain/1"}};
  boost::json::array& devices = root["devices"].emplace_array();
  for (const Explanation& explanation : explanations) {
    devices.push_back(explanation_json(explanation));
  }
  out << root << "\n";
}

void write_csv(const std::vector<Explanation>& explanations, std::ostream& out) {
  TextTable table;
  table.columns = {"device", "metric", "value"};
  for (const Explanation& explanation : explanations) {
    for (const Metric& metric : explanation_metrics(explanation).metrics) {
      table.rows.push_back({std::to_string(explanation.workload.replay.device), metric.key,
                            to_exact_text(metric.value)});
    }
  }
  out << format_csv(table);
}

void write(const std::vector<Explanation>& explanations, const WorkloadQuestion& question,
           std::ostream& out) {
  if (question.format == OutputFormat::json) {
    write_json(explanations, out);
  } else if (question.format == OutputFormat::csv) {
    write_csv(explanations, out);
  } else if (explanations.empty()) {
    out << "The file holds no device with memory or events.\n";
  } else {
    for (const Explanation& explanation : explanations) {
      out << explanation_text(explanation, question.format, question.top);
    }
  }
}

}  // namespace

ExitCode run_explain(const Arguments& arguments, std::ostream& out) {
  const WorkloadQuestion question = read_question(command("explain"), arguments);
  std::vector<Explanation> explanations;
  for (Workload& workload : read_workloads(question.workload)) {
    explanations.push_back(explain(std::move(workload)));
  }
  write(explanations, question, out);
  return ExitCode::ok;
}

}  // namespace highwater
