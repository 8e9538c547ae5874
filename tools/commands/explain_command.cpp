// highwater explain: why it ran out of memory and what would have helped; else what holds memory.
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/options/workload_question.hpp"
#include "tools/reports/explain_report.hpp"
#include "tools/reports/simulate/plan_cures.hpp"
#include "tools/studies/explanation/explain_run.hpp"

namespace highwater {
ExitCode run_explain(const Arguments& arguments, std::ostream& out) {
  const WorkloadQuestion question = read_question(command("explain"), arguments);
  std::vector<Explanation> explanations;
  for (Workload& workload : read_workloads(question.workload)) {
    std::vector<std::string> cures = plan_cures(question.workload, workload);
    explanations.push_back(explain(std::move(workload)));
    explanations.back().cures = std::move(cures);
  }
  out << explain_report(explanations, question.format, question.top);
  return ExitCode::ok;
}

}  // namespace highwater
