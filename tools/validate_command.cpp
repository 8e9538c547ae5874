// highwater validate --recorded DIR: fidelity of every recording, and simulation against truth.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <ostream>
#include <unistd.h>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/validate_report.hpp"
#include "tools/validate_run.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct ValidateCommand {
  std::string folder;
  std::optional<std::string> only;
  std::optional<double> max_error;
  OutputFormat format = OutputFormat::table;
};

OptionParser option_parser() {
  OptionParser parser(command("validate"));
  parser.add()("recorded", po::value<std::string>()->value_name("DIR"),
               "folder searched for recorded cases: pairs X.json, X.pickle.xz")(
      "only", po::value<std::string>()->value_name("PATTERN"),
      "only cases whose name matches: words with * and ?, or a part of the name; several with ,")(
      "max-error", po::value<double>()->value_name("X"),
      "exit with 1 when an error of peak allocated or reserved is above this fraction, or a run "
      "ends otherwise than recorded");
  parser.add_format();
  return parser;
}

ValidateCommand parse(const Arguments& arguments) {
  const po::variables_map values = option_parser().parse(arguments);
  if (!values.contains("recorded")) {
    throw UsageError("validate needs --recorded DIR; see highwater validate --help");
  }
  ValidateCommand result;
  result.folder = values["recorded"].as<std::string>();
  result.only = text_option(values, "only");
  if (values.contains("max-error")) {
    result.max_error = values["max-error"].as<double>();
    if (!(*result.max_error >= 0)) {
      throw UsageError(
          fmt::format("--max-error {}: write a fraction of 0 or more", *result.max_error));
    }
  }
  result.format = output_format(values);
  return result;
}

/// Shell patterns of * and ?.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) {
    return name.empty();
  }
  if (pattern.front() == '*') {
    return matches(name, pattern.substr(1)) || (!name.empty() && matches(name.substr(1), pattern));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches(name.substr(1), pattern.substr(1));
}

bool is_wanted(const std::string& path, std::string_view patterns) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string_view stem = std::string_view(name).substr(0, name.rfind(".json"));
  while (true) {
    const std::size_t comma = patterns.find(',');
    const std::string_view pattern = patterns.substr(0, comma);
    const bool is_glob = pattern.find_first_of("*?") != std::string_view::npos;
    if (is_glob ? matches(stem, pattern) : stem.find(pattern) != std::string_view::npos) {
      return true;
    }
    if (comma == std::string_view::npos) {
      return false;
    }
    patterns.remove_prefix(comma + 1);
  }
}

std::vector<CaseFiles> wanted_cases(const ValidateCommand& command) {
  std::vector<CaseFiles> files = find_cases(command.folder);
  if (command.only) {
    std::erase_if(files, [&](const CaseFiles& candidate) {
      return !is_wanted(candidate.description, *command.only);
    });
  }
  if (files.empty()) {
    throw InputError(command.folder, "",
                     command.only ? "no recorded case matches '" + *command.only + "'"
                                  : "no recorded case in it",
                     "a recorded case is a pair X.json, X.pickle.xz");
  }
  return files;
}

std::vector<CaseValidation> run(const std::vector<CaseFiles>& files) {
  const bool shows_progress = ::isatty(STDERR_FILENO) == 1;
  auto cases = validate_cases(files, [&](std::size_t done) {
    if (shows_progress) {
      std::cerr << fmt::format("\r{} of {} cases", done, files.size()) << std::flush;
    }
  });
  if (shows_progress) {
    std::cerr << "\r                              \r";
  }
  return cases;
}

void write(const std::vector<CaseValidation>& cases, OutputFormat format, std::ostream& out) {
  if (format == OutputFormat::json) {
    out << validation_json(cases) << "\n";
    return;
  }
  if (format == OutputFormat::csv) {
    out << format_csv(case_table(cases));
    return;
  }
  for (const TextTable& table : {case_table(cases), unsupported_table(cases), error_table(cases)}) {
    if (!table.rows.empty()) {
      out << (format == OutputFormat::markdown ? format_markdown(table) : format_aligned(table))
          << "\n";
    }
  }
  for (const std::string& note : validation_notes(cases)) {
    out << note << "\n";
  }
}

// A check that could simulate nothing has not passed.
bool exceeds(const std::vector<CaseValidation>& cases, double limit) {
  if (std::ranges::none_of(cases, &CaseValidation::is_simulated)) {
    return true;
  }
  for (const CaseValidation& validation : cases) {
    const bool is_off = std::abs(worst_error(validation, &Usage::allocated)) > limit ||
                        std::abs(worst_error(validation, &Usage::reserved)) > limit;
    if (validation.is_simulated() && (is_off || !validation.ends_alike())) {
      return true;
    }
  }
  return false;
}

}  // namespace

ExitCode run_validate(const Arguments& arguments, std::ostream& out) {
  const ValidateCommand command = parse(arguments);
  const std::vector<CaseValidation> cases = run(wanted_cases(command));
  write(cases, command.format, out);
  return command.max_error && exceeds(cases, *command.max_error) ? ExitCode::exceeded
                                                                 : ExitCode::ok;
}

}  // namespace highwater
