// highwater schema: the JSON schema of what a command prints.
#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/schemas/schemas.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<std::string_view> commands_with_schema() {
  std::vector<std::string_view> names;
  for (const CommandSchema& schema : command_schemas()) {
    names.push_back(schema.command);
  }
  return names;
}

std::string_view schema_of(const std::string& name) {
  const auto found = std::ranges::find(command_schemas(), name, &CommandSchema::command);
  if (found == command_schemas().end()) {
    command(name);  // says what the name may have meant
    throw UsageError(fmt::format("schema {}: the command prints no JSON; use one of {}", name,
                                 fmt::join(commands_with_schema(), ", ")));
  }
  return found->text;
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
