// highwater advise: the allocator settings that serve a file or plan best, found by replaying them.
#include <ostream>

#include <boost/json.hpp>

#include "tools/commands/commands.hpp"
#include "tools/options/workload_question.hpp"
#include "tools/reports/advise_report.hpp"
#include "tools/studies/advise_run.hpp"

namespace highwater {
namespace {

void write_json(const std::vector<AdviceReport>& reports, std::ostream& out) {
  boost::json::object root{{"schema", "highwater.advise/1"}};
  boost::json::array& devices = root["devices"].emplace_array();
  for (const AdviceReport& report : reports) {
    devices.push_back(advice_json(report));
  }
  out << root << "\n";
}

void write(const std::vector<AdviceReport>& reports, const WorkloadQuestion& question,
           std::ostream& out) {
  if (question.format == OutputFormat::json) {
    write_json(reports, out);
  } else if (reports.empty()) {
    out << "The file holds no device with memory or events.\n";
  } else {
    for (const AdviceReport& report : reports) {
      out << (question.format == OutputFormat::csv
                  ? format_csv(advice_table(report, std::size_t{1} << 20, true))
                  : advice_text(report, question.format, question.top));
    }
  }
}

}  // namespace

ExitCode run_advise(const Arguments& arguments, std::ostream& out) {
  const WorkloadQuestion question = read_question(command("advise"), arguments);
  std::vector<AdviceReport> reports;
  for (Workload& workload : read_workloads(question.workload)) {
    reports.push_back(advise(std::move(workload)));
  }
  write(reports, question, out);
  return ExitCode::ok;
}

}  // namespace highwater
