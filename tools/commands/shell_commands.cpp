// highwater completion, highwater manual: the words of the command line, for shells and for man.
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/shell/completion.hpp"
#include "tools/shell/manual.hpp"

namespace highwater {
namespace {

std::vector<CommandWords> all_commands() {
  std::vector<CommandWords> all;
  for (const Command& command : commands()) {
    CommandWords words{command.name, command.arguments, command.description, command.example, {}};
    for (OptionSummary& option : options_of(command)) {
      const bool takes_value = !option.value.empty();
      std::vector<std::string> values =
          takes_value ? value_words(option.name) : std::vector<std::string>{};
      words.options.push_back({std::move(option.name), std::move(option.value),
                               std::move(option.help), std::move(values)});
    }
    all.push_back(std::move(words));
  }
  return all;
}

}  // namespace

ExitCode run_completion(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("completion"));
  parser.positional("shell", 1);
  const auto values = parser.parse(arguments);
  if (!values.contains("shell")) {
    throw UsageError("completion: which shell? Give bash, zsh or fish");
  }
  const std::string& name = values["shell"].as<Arguments>().front();
  const auto shell = shell_called(name);
  if (!shell) {
    throw UsageError(fmt::format("completion {}: unknown shell; use bash, zsh or fish", name));
  }
  out << completion_script(*shell, all_commands());
  return ExitCode::ok;
}

ExitCode run_manual(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("manual"));
  parser.parse(arguments);
  out << manual_page(HIGHWATER_VERSION, all_commands());
  return ExitCode::ok;
}

}  // namespace highwater
