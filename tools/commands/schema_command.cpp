// highwater schema: the JSON schema of what a command prints.
#include <algorithm>
#include <array>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/json/indented.hpp"
#include "tools/reports/catalog/gpu_report.hpp"
#include "tools/reports/explain_report.hpp"
#include "tools/reports/phases/phases_report.hpp"
#include "tools/reports/replay_output.hpp"
#include "tools/reports/simulate/simulate_report.hpp"
#include "tools/schemas/schemas.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// The schema of an answer whose keys are rows (tools/json/members.hpp). The others were learned
/// from output (tools/schemas).
struct MadeSchema {
  std::string_view command;
  boost::json::object (*make)();
};

constexpr std::array kMadeSchemas{
    MadeSchema{"explain", explain_schema}, MadeSchema{"gpus", gpus_schema},
    MadeSchema{"phases", phases_schema}, MadeSchema{"replay", replay_schema},
    MadeSchema{"simulate", simulation_schema}};

std::vector<std::string_view> commands_with_schema() {
  std::vector<std::string_view> names;
  std::ranges::transform(command_schemas(), std::back_inserter(names), &CommandSchema::command);
  std::ranges::transform(kMadeSchemas, std::back_inserter(names), &MadeSchema::command);
  std::ranges::sort(names);
  return names;
}

std::string schema_of(const std::string& name) {
  if (const auto made = std::ranges::find(kMadeSchemas, name, &MadeSchema::command);
      made != kMadeSchemas.end()) {
    return indented(made->make());
  }
  if (const auto learned = std::ranges::find(command_schemas(), name, &CommandSchema::command);
      learned != command_schemas().end()) {
    return std::string(learned->text);
  }
  command(name);  // says what the name may have meant
  throw UsageError(fmt::format("schema {}: the command prints no JSON; use one of {}", name,
                               fmt::join(commands_with_schema(), ", ")));
}

}  // namespace

ExitCode run_schema(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("schema"));
  parser.positional("command", -1);
  const auto values = parser.parse(arguments);
  if (!values.contains("command")) {
    out << fmt::format("{}\n", fmt::join(commands_with_schema(), "\n"));
    return ExitCode::ok;
  }
  const auto& names = values["command"].as<Arguments>();
  if (names.size() > 1) {
    throw UsageError(
        fmt::format("schema {}: takes one COMMAND; omit the rest", fmt::join(names, " ")));
  }
  out << schema_of(names.front());
  return ExitCode::ok;
}

}  // namespace highwater
