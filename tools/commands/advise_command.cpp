// highwater advise: the allocator settings that serve a file or plan best, found by replaying them.
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/options/workload_question.hpp"
#include "tools/reports/advise_report.hpp"
#include "tools/studies/explanation/advise_run.hpp"

namespace highwater {
ExitCode run_advise(const Arguments& arguments, std::ostream& out) {
  const WorkloadQuestion question = read_question(command("advise"), arguments);
  std::vector<AdviceReport> reports;
  for (Workload& workload : read_workloads(question.workload)) {
    reports.push_back(advise(std::move(workload), question.settings));
  }
  out << advise_report(reports, question.format, question.top);
  return ExitCode::ok;
}

}  // namespace highwater
