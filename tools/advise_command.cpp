// highwater advise: the allocator settings that serve a file or plan best, found by replaying them.
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/advise_report.hpp"
#include "tools/advise_run.hpp"
#include "tools/commands.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct AdviseCommand {
  SubjectRequest subject;
  OutputFormat format = OutputFormat::table;
  std::size_t top = 0;
};

OptionParser option_parser() {
  OptionParser parser(command("advise"));
  add_subject_options(parser);
  parser.add()("top", po::value<std::int64_t>()->default_value(8)->value_name("N"),
               "rows of each list");
  parser.add_format();
  return parser;
}

AdviseCommand parse(const Arguments& arguments) {
  const po::variables_map values = option_parser().parse(arguments);
  AdviseCommand result;
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

void write_json(const std::vector<AdviceReport>& reports, std::ostream& out) {
  boost::json::object root{{"schema", "highwater.advise/1"}};
  boost::json::array& devices = root["devices"].emplace_array();
  for (const AdviceReport& report : reports) {
    devices.push_back(advice_json(report));
  }
  out << root << "\n";
}

void write(const std::vector<AdviceReport>& reports, const AdviseCommand& command,
           std::ostream& out) {
  if (command.format == OutputFormat::json) {
    write_json(reports, out);
  } else if (reports.empty()) {
    out << "The file holds no device with memory or events.\n";
  } else {
    for (const AdviceReport& report : reports) {
      out << (command.format == OutputFormat::csv
                  ? format_csv(advice_table(report, std::size_t{1} << 20, true))
                  : advice_text(report, command.format, command.top));
    }
  }
}

}  // namespace

ExitCode run_advise(const Arguments& arguments, std::ostream& out) {
  const AdviseCommand command = parse(arguments);
  std::vector<AdviceReport> reports;
  for (Subject& subject : read_subjects(command.subject)) {
    reports.push_back(advise(std::move(subject)));
  }
  write(reports, command, out);
  return ExitCode::ok;
}

}  // namespace highwater
