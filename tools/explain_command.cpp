// highwater explain: why it ran out of memory and what would have helped; else what holds memory.
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/explain_report.hpp"
#include "tools/explain_run.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct ExplainCommand {
  SubjectRequest subject;
  OutputFormat format = OutputFormat::table;
  std::size_t top = 0;
};

OptionParser option_parser() {
  OptionParser parser(command("explain"));
  add_subject_options(parser);
  parser.add()("top", po::value<std::int64_t>()->default_value(8)->value_name("N"),
               "rows of each list");
  parser.add_format();
  return parser;
}

ExplainCommand parse(const Arguments& arguments) {
  const po::variables_map values = option_parser().parse(arguments);
  ExplainCommand result;
  std::vector<std::string> problems;
  collect_problems(problems, [&] { result.format = output_format(values); });
  const auto top = values["top"].as<std::int64_t>();
  if (top < 1) {
    problems.push_back(fmt::format("--top {}: write 1 or more", top));
  }
  result.top = static_cast<std::size_t>(std::max<std::int64_t>(top, 1));
  result.subject = read_subject_options(values, std::move(problems));
  return result;
}

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
      table.rows.push_back({std::to_string(explanation.subject.replay.device), metric.key,
                            to_exact_text(metric.value)});
    }
  }
  out << format_csv(table);
}

void write(const std::vector<Explanation>& explanations, const ExplainCommand& command,
           std::ostream& out) {
  if (command.format == OutputFormat::json) {
    write_json(explanations, out);
  } else if (command.format == OutputFormat::csv) {
    write_csv(explanations, out);
  } else if (explanations.empty()) {
    out << "The file holds no device with memory or events.\n";
  } else {
    for (const Explanation& explanation : explanations) {
      out << explanation_text(explanation, command.format, command.top);
    }
  }
}

}  // namespace

ExitCode run_explain(const Arguments& arguments, std::ostream& out) {
  const ExplainCommand command = parse(arguments);
  std::vector<Explanation> explanations;
  for (Subject& subject : read_subjects(command.subject)) {
    explanations.push_back(explain(std::move(subject)));
  }
  write(explanations, command, out);
  return ExitCode::ok;
}

}  // namespace highwater
