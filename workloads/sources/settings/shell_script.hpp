// Commands of a shell script, as far as launch scripts need it: quotes, comments, continued lines,
// variables and arrays that the script sets itself.
//
// Source: POSIX.1-2017, Shell Command Language, sections 2.2 to 2.6; bash(1), Arrays. Branches are
// taken where the script decides them itself (shell_branches.hpp); loops are not carried out: each
// of their commands counts once, in the order of the text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

/// One simple command, its words without quotes and with variables replaced; those that the script
/// does not set stay as they are written ("$MODEL").
struct ShellCommand {
  std::vector<std::pair<std::string, std::string>> environment;  ///< set in front or exported
  std::vector<std::string> words;
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  /// Variables that branches set to different values where nothing says which one runs.
  std::vector<std::string> ambiguous;
  /// Where bash ends a command that is read on: "line 3: blanks behind the backslash".
  std::vector<std::string> cut_lines;
  std::size_t expanded = 0;  ///< characters that its variables became
};

/// What a script finds set: the environment, and its arguments under "1", "2", ...
using ShellEnvironment = std::map<std::string, std::string>;

/// @throws InputError with the line for a quote that is never closed, for what is no text (NUL),
/// and for variables larger than those of any launch script (shell_variables.hpp). `expanded`: what
/// scripts around this one have taken of that.
ShellScript read_shell_script(std::string_view script, const std::string& file,
                              const ShellEnvironment& environment = {}, std::size_t expanded = 0);

}  // namespace highwater
