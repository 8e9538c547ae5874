// highwater report: one HTML file about a run or two, to open in a browser and to send to somebody.
#include <ostream>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/html/report_data.hpp"
#include "tools/html/report_page.hpp"
#include "tools/html/report_run.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/reports/simulate/plan_cures.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/output_target.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

OptionParser report_options() {
  OptionParser parser(command("report"));
  parser.add()("output,o", output_value("HTML"),
               "the file to write; default: report.html; - is standard output");
  add_workload_options(parser);
  return parser;
}

/// An edited run is drawn beside the run as it was.
std::vector<WorkloadRequest> shown_runs(const po::variables_map& values) {
  std::vector<WorkloadRequest> requests = read_workloads_options(values, 2);
  if (requests.size() == 1 && !requests.front().edits.empty()) {
    requests.insert(requests.begin(), requests.front());
    requests.front().edits.clear();
  }
  return requests;
}

std::vector<ReportRun> runs_of(const po::variables_map& values) {
  std::vector<WorkloadRequest> requests = shown_runs(values);
  const ReportUse use = requests.size() == 2 ? ReportUse::compared : ReportUse::alone;
  std::vector<ReportRun> runs;
  for (const WorkloadRequest& request : requests) {
    runs.push_back(run_for_report(request, use));
  }
  if (use == ReportUse::alone) {
    Explanation& explained = runs.front().explained;
    explained.cures = plan_cures(requests.front(), explained.workload);
  }
  return runs;
}

boost::json::object data_of(const std::vector<ReportRun>& runs) {
  return runs.size() == 1 ? report_json(runs.front()) : report_json(runs.front(), runs.back());
}

}  // namespace

ExitCode run_report(const Arguments& arguments, std::ostream& out) {
  const po::variables_map values = report_options().parse(arguments);
  const std::string path = output_option(values, "output").value_or("report.html");
  const std::vector<ReportRun> runs = runs_of(values);
  const std::string page = with_progress("drawing", [&] { return report_page(data_of(runs)); });
  if (is_standard_output(path)) {
    out << page;
    return ExitCode::ok;
  }
  write_text(*open_sink(path), page);
  for (const ReportRun& run : runs) {
    out << printable(run.verdict) << "\n";
  }
  out << fmt::format("wrote {} ({:.1f} MB)\n", printable(path),
                     static_cast<double>(page.size()) / 1e6);
  for (const ReportRun& run : runs) {
    out << printable(run.explained.workload.trust()) << "\n";
  }
  return ExitCode::ok;
}

}  // namespace highwater
