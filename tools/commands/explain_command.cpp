// highwater explain: why it ran out of memory and what would have helped; else what holds memory.
// Of a log: what the messages in it tell.
#include <ostream>

#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/messages/oom_message.hpp"
#include "tools/options/workload_question.hpp"
#include "tools/reports/explain_report.hpp"
#include "tools/reports/messages/message_report.hpp"
#include "tools/reports/simulate/plan_cures.hpp"
#include "tools/studies/explanation/explain_run.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

void require_question_of_log(const WorkloadRequest& request) {
  if (request.memory.has_limit() || request.device || !request.edits.empty()) {
    throw UsageError(fmt::format(
        "'{}' is a log: limits, --device and --edit are for recordings; omit them", *request.file));
  }
}

std::string explain_log(const LogFile& log, const WorkloadQuestion& question) {
  require_question_of_log(question.workload);
  const std::vector<OomMessage> messages = oom_messages(LogText(log.text));
  if (messages.empty()) {
    require_no_broken_trace(log, *question.workload.file);
    throw InputError(*question.workload.file, "",
                     "is a text without any message about memory that Highwater knows",
                     "give a log with the line that says 'out of memory', a snapshot or a trace");
  }
  const std::string& file = *question.workload.file;
  return message_report(file == "-" ? "standard input" : file, messages, question.format,
                        question.top);
}

std::string explain_workloads(std::vector<Workload> workloads, const WorkloadQuestion& question) {
  std::vector<Explanation> explanations;
  for (Workload& workload : workloads) {
    std::vector<std::string> cures = plan_cures(question.workload, workload);
    explanations.push_back(explain(std::move(workload)));
    explanations.back().cures = std::move(cures);
  }
  return explain_report(explanations, question.format, question.top);
}

std::string answer_to(const WorkloadQuestion& question) {
  const WorkloadRequest& request = question.workload;
  if (!request.file) {
    return explain_workloads(read_workloads(request), question);
  }
  auto file = read_trace_or_log(*request.file, StackMode::keep, request.reading);
  if (const auto* log = std::get_if<LogFile>(&file)) {
    return explain_log(*log, question);
  }
  return explain_workloads(workloads_of(std::get<TraceFile>(std::move(file)), request), question);
}

}  // namespace

ExitCode run_explain(const Arguments& arguments, std::ostream& out) {
  out << answer_to(read_question(command("explain"), arguments));
  return ExitCode::ok;
}

}  // namespace highwater
