// highwater validate: a grid of plans by closed forms and simulation; --recorded DIR, simulation
// against recordings; --reference FILE, closed forms against published figures.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/commands/grid_command.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/reports/validation/reference_report.hpp"
#include "tools/reports/validation/validate_report.hpp"
#include "tools/studies/validation/reference_run.hpp"
#include "tools/studies/validation/validate_run.hpp"
#include "tools/text/name_pattern.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"
#include "workloads/plan/framework.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct ValidateCommand {
  std::optional<std::string> folder;     ///< of recorded cases
  std::optional<std::string> reference;  ///< file of reference cases
  std::optional<std::string> grid;       ///< file; absent: the default one
  bool prints_grid = false;
  std::optional<std::string> only;
  std::optional<double> max_error;
  std::vector<ValidationEngine> engines{ValidationEngine{}};  ///< of recorded cases
  OutputFormat format = OutputFormat::table;
  FleetRequest fleet;
};

OptionParser validate_options() {
  OptionParser parser(command("validate"));
  parser.positional("grid", 1);
  parser.add()("print-grid", "print the default grid as a grid file")(
      "recorded", po::value<std::string>()->value_name("DIR"),
      "folder to search for recorded cases: pairs X.json, X.pickle.xz")(
      "reference", po::value<std::string>()->value_name("FILE"),
      "file of reference cases: recompute published figures; exit with 1 if a case fails")(
      "only", po::value<std::string>()->value_name("PATTERN"),
      "only cases or plans whose name matches: patterns with * and ?, or part of the name (of a "
      "plan: 'model=gpt2 batch=4 ...'); separate several with commas")(
      "max-error", po::value<double>()->value_name("X"),
      "exit with 1 if the simulation's error in peak allocated or reserved, or in the measurement "
      "of a grid's case, exceeds this fraction, or if a run ends differently from its recording; "
      "cases that an index.json in their folder holds out do not count");
  parser.add()(
      "engine", po::value<std::string>()->value_name("E"),
      "with --recorded: what simulates the cases: this program's model (default), your own "
      "torch, or both, each in a row of its own")(
      "python", po::value<std::string>()->value_name("FILE"),
      "the Python whose PyTorch --engine torch runs; default: the one on the PATH. Cases of other "
      "releases are not simulated");
  add_fleet_options(parser);
  parser.add_format();
  return parser;
}

void check_one_task(const ValidateCommand& command) {
  const int tasks = int{command.folder.has_value()} + int{command.reference.has_value()} +
                    int{command.grid.has_value()} + int{command.prints_grid};
  if (tasks > 1) {
    throw UsageError(
        "a grid file, --print-grid, --recorded DIR and --reference FILE exclude one another; use "
        "one of them");
  }
}

/// One or two, in the order in which their rows are shown.
std::vector<ValidationEngine> read_engines(const po::variables_map& values) {
  const std::string engine = text_option(values, "engine").value_or("model");
  if (engine != "model" && engine != "torch" && engine != "both") {
    throw UsageError(
        fmt::format("--engine {}: unknown to validate; use model, torch or both", engine));
  }
  if (engine != "model" && !values.contains("recorded")) {
    throw UsageError("--engine " + engine + " needs recorded cases; add --recorded DIR");
  }
  std::vector<ValidationEngine> engines;
  if (engine != "torch") {
    engines.emplace_back();
  }
  if (engine != "model") {
    engines.push_back(
        {EngineKind::torch, text_option(values, "python").value_or(ValidationEngine{}.python)});
  }
  return engines;
}

/// Nothing there is cut into pieces.
void check_pieces(const ValidateCommand& command) {
  if ((command.reference || command.prints_grid) && command.fleet.run.shard) {
    throw UsageError(
        "--shard applies to a grid and to --recorded DIR; omit it, the rest takes a second");
  }
}

ValidateCommand parse_validate(const Arguments& arguments) {
  const po::variables_map values = validate_options().parse(arguments);
  ValidateCommand result;
  result.folder = text_option(values, "recorded");
  result.reference = text_option(values, "reference");
  result.prints_grid = values.contains("print-grid");
  if (values.contains("grid")) {
    result.grid = values["grid"].as<Arguments>().front();
  }
  check_one_task(result);
  result.only = text_option(values, "only");
  if (values.contains("max-error")) {
    if (result.reference) {
      throw UsageError(
          "--max-error does not apply to --reference, whose cases have their own tolerances; omit "
          "it");
    }
    result.max_error = values["max-error"].as<double>();
    if (!(*result.max_error >= 0)) {
      throw UsageError(
          fmt::format("--max-error {}: not a fraction; use 0 or more", *result.max_error));
    }
  }
  result.engines = read_engines(values);
  result.format = output_format(values);
  result.fleet = read_fleet_options(values, "validate", arguments);
  check_pieces(result);
  return result;
}

/// The name of a case without folder and ending.
std::string_view case_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind(".json"));
}

std::vector<CaseFiles> wanted_cases(const ValidateCommand& command) {
  std::vector<CaseFiles> files = find_cases(*command.folder);
  if (command.only) {
    std::erase_if(files, [&](const CaseFiles& candidate) {
      return !matches_any(case_name(candidate.description), *command.only);
    });
  }
  if (files.empty()) {
    throw InputError(*command.folder, "",
                     command.only ? "no recorded case matches '" + *command.only + "'"
                                  : "no recorded cases found",
                     "name a folder with pairs X.json, X.pickle.xz");
  }
  for (const CaseFiles& each : files) {  // outputs are opened before they are read
    remember_input(each.description);
    remember_input(each.recording);
  }
  return files;
}

std::vector<CaseValidation> run(const std::vector<CaseFiles>& files,
                                const std::vector<ValidationEngine>& engines, Fleet& fleet) {
  std::vector<CaseValidation> cases;
  for (const ValidationEngine& engine : engines) {
    std::ranges::move(validate_cases(files, fleet, engine), std::back_inserter(cases));
  }
  fleet.end_of_pieces();
  return cases;
}

// A check that could simulate nothing has not passed. What is held out is only reported.
bool exceeds(const std::vector<CaseValidation>& cases, double limit) {
  if (std::ranges::none_of(cases, &CaseValidation::is_simulated)) {
    return true;
  }
  for (const CaseValidation& validation : cases) {
    const bool is_off = std::abs(worst_error(validation, &Usage::allocated)) > limit ||
                        std::abs(worst_error(validation, &Usage::reserved)) > limit;
    if (validation.half != CaseHalf::held_out && validation.is_simulated() &&
        (is_off || !validation.ends_alike())) {
      return true;
    }
  }
  return false;
}

ExitCode validate_reference(const ValidateCommand& command, std::ostream& out) {
  const std::string& path = *command.reference;
  const ReferenceFile file = read_reference_cases(read_text_file(path), path);
  std::vector<ReferenceResult> results = run_reference(file);
  if (command.only) {
    std::erase_if(results, [&](const ReferenceResult& result) {
      return !matches_any(result.reference->id, *command.only);
    });
  }
  if (results.empty()) {
    throw InputError(path, "cases",
                     command.only ? "no reference case matches '" + *command.only + "'"
                                  : "no reference cases found",
                     "use the reference tables");
  }
  out << reference_report(results, command.format);
  return count_results(results, ReferenceVerdict::failed) > 0 ? ExitCode::exceeded : ExitCode::ok;
}

}  // namespace

ExitCode run_validate(const Arguments& arguments, std::ostream& out) {
  const ValidateCommand command = parse_validate(arguments);
  if (command.prints_grid) {
    return print_default_grid(out);
  }
  if (command.reference) {
    return validate_reference(command, out);
  }
  Fleet fleet(command.fleet);
  if (!command.folder) {
    return validate_grid({command.grid, command.only, command.max_error, command.format}, fleet,
                         out);
  }
  const std::vector<CaseValidation> cases = run(wanted_cases(command), command.engines, fleet);
  out << validation_report(cases, command.format);
  return command.max_error && exceeds(cases, *command.max_error) ? ExitCode::exceeded
                                                                 : ExitCode::ok;
}

}  // namespace highwater
