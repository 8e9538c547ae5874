#include "tools/shell/completion.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

/// The programs that are completed: the command and its other name in the wheel.
constexpr std::string_view kPrograms = "highwater highwater-gpu";

/// In single quotes, for any of the shells; fish reads \' inside them.
std::string quoted(std::string_view text, std::string_view apostrophe) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? std::string(apostrophe) : std::string(1, c);
  }
  return result + "'";
}

std::vector<std::string> names_of(std::span<const CommandWords> commands) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands) {
    names.emplace_back(command.name);
  }
  names.emplace_back("help");
  return names;
}

std::vector<std::string> dashed_options(const CommandWords& command) {
  std::vector<std::string> names;
  for (const OptionWordsOf& option : command.options) {
    names.push_back("--" + option.name);
  }
  return names;
}

/// An arm of a `case` for each option whose values are known, and one for those that take others.
std::string bash_values(const CommandWords& command) {
  std::string arms;
  std::vector<std::string> others;
  for (const OptionWordsOf& option : command.options) {
    if (!option.words.empty()) {
      arms += fmt::format("      {}:--{}) words='{}' ;;\n", command.name, option.name,
                          fmt::join(option.words, " "));
    } else if (!option.value.empty()) {
      others.push_back(fmt::format("{}:--{}", command.name, option.name));
    }
  }
  return arms +
         (others.empty() ? "" : fmt::format("      {}) return ;;\n", fmt::join(others, "|")));
}

std::string bash_script(std::span<const CommandWords> commands) {
  std::string values;
  std::string options;
  for (const CommandWords& command : commands) {
    values += bash_values(command);
    options += fmt::format("        {}) words='{}' ;;\n", command.name,
                           fmt::join(dashed_options(command), " "));
  }
  return fmt::format(
      R"(# bash completion for highwater; written by `highwater completion bash`
_highwater() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [[ ${{COMP_WORDS[1]}} == help ]]; then
    words='{}'
  else
    case ${{COMP_WORDS[1]}}:$before in
{}    esac
    if [[ -z $words && $word == -* ]]; then
      case ${{COMP_WORDS[1]}} in
{}      esac
    fi
  fi
  [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -o bashdefault -F _highwater {}
)",
      fmt::join(names_of(commands), " "), values, options, kPrograms);
}

/// What _arguments takes for an option: "--seq[tokens of a sequence]:N:".
std::string zsh_option(const OptionWordsOf& option) {
  std::string help;
  for (const char c : option.help) {
    help += c == '[' || c == ']' || c == ':' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  std::string spec = fmt::format("--{}[{}]", option.name, help);
  if (!option.value.empty()) {
    spec += fmt::format(":{}:{}", option.name,
                        option.words.empty() ? std::string("_files")
                                             : fmt::format("({})", fmt::join(option.words, " ")));
  }
  return quoted(spec, R"('\'')");
}

std::string zsh_script(std::span<const CommandWords> commands) {
  std::string described;
  std::string arms;
  for (const CommandWords& command : commands) {
    described += fmt::format(
        "    {}\n", quoted(fmt::format("{}:{}", command.name, command.description), R"('\'')"));
    arms += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionWordsOf& option : command.options) {
      arms += " \\\n        " + zsh_option(option);
    }
    arms += " \\\n        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef {}
# zsh completion for highwater; written by `highwater completion zsh`
_highwater() {{
  local -a commands=(
{}  )
  if ((CURRENT == 2)) || [[ $words[2] == help ]]; then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _highwater ]]; then
  _highwater "$@"
else
  compdef _highwater {}
fi
)",
                     kPrograms, described, arms, kPrograms);
}

std::string fish_option(const CommandWords& command, const OptionWordsOf& option,
                        std::string_view program) {
  constexpr std::string_view kApostrophe = R"(\')";
  std::string line =
      fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}' -l {} -d {}", program,
                  command.name, option.name, quoted(option.help, kApostrophe));
  if (!option.words.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
  } else if (!option.value.empty()) {
    line += " -r";
  }
  return line + "\n";
}

std::string fish_script(std::span<const CommandWords> commands) {
  std::string script = "# fish completion for highwater; written by `highwater completion fish`\n";
  constexpr std::string_view kProgram = "highwater";
  for (const CommandWords& command : commands) {
    script += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", kProgram,
                          command.name, quoted(command.description, R"(\')"));
    for (const OptionWordsOf& option : command.options) {
      script += fish_option(command, option, kProgram);
    }
  }
  return script + "complete -c highwater-gpu -w highwater\n";
}

}  // namespace

std::optional<Shell> shell_called(std::string_view name) {
  if (name == "bash") {
    return Shell::bash;
  }
  if (name == "zsh") {
    return Shell::zsh;
  }
  return name == "fish" ? std::optional(Shell::fish) : std::nullopt;
}

std::string completion_script(Shell shell, std::span<const CommandWords> commands) {
  switch (shell) {
    case Shell::bash:
      return bash_script(commands);
    case Shell::zsh:
      return zsh_script(commands);
    case Shell::fish:
      break;
  }
  return fish_script(commands);
}

}  // namespace highwater
