// highwater fit: one program for every batch and length, from a few recordings.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/commands/scaled_command.hpp"
#include "tools/files/program_file.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/scaling/fit_report.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct FitCommand {
  FitRequest request;
  std::string output;
  OutputFormat format = OutputFormat::table;
};

OptionParser fit_options() {
  OptionParser parser(command("fit"));
  parser.add()("output,o", output_value("RUN.hwp"),
               "the program, for simulate --from and, with --values, for whatever takes a FILE")(
      "device", po::value<int>()->value_name("N"), "only this device of each FILE")(
      "gpu", po::value<std::string>()->value_name("NAME"),
      "the GPU of the recordings, where they do not say: workspaces stop to grow when it is busy")(
      "max-expansion", po::value<std::string>()->value_name("N"),
      "refuse a compressed FILE that becomes larger than N times its size; none: no limit");
  parser.add_format();
  parser.positional("files", -1);
  return parser;
}

/// "run.pickle:batch=2,seq=128". A colon that no name and number follow is part of the path.
FitFile fit_file(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find('=', colon) == std::string::npos) {
    return {text, {}};
  }
  return {text.substr(0, colon), parse_named_integers(text.substr(colon + 1), text)};
}

std::string output_name(const po::variables_map& values) {
  const auto output = output_option(values, "output");
  if (!output) {
    throw UsageError("fit writes a program; name it with --output run.hwp");
  }
  return *output;
}

FitCommand parse_fit(const Arguments& arguments) {
  const po::variables_map values = fit_options().parse(arguments);
  FitCommand result;
  if (values.contains("files")) {
    for (const std::string& text : values["files"].as<Arguments>()) {
      result.request.files.push_back(fit_file(text));
      for (const auto& [name, value] : result.request.files.back().given) {
        require_usable(name);
      }
    }
  }
  if (result.request.files.size() < 2) {
    throw UsageError(
        "fit takes two recordings or more, of different batches or lengths; four let "
        "it verify what it finds; see highwater fit --help");
  }
  result.output = output_name(values);
  if (values.contains("device")) {
    result.request.device = values["device"].as<int>();
  }
  if (const auto gpu = text_option(values, "gpu")) {
    result.request.gpu = &gpu_called(*gpu);
  }
  result.request.reading = read_reading_options(values);
  result.format = output_format(values);
  return result;
}

}  // namespace

ExitCode run_fit(const Arguments& arguments, std::ostream& out) {
  const FitCommand command = parse_fit(arguments);
  const FittedFiles fitted = with_progress("fitting", [&] { return fit_files(command.request); });
  write_program_file(fitted.program, command.output);
  out << fit_report(fitted, command.output, command.format);
  return ExitCode::ok;
}

}  // namespace highwater
