// Commands of a shell script, as far as launch scripts need it: quotes, comments, continued lines,
// variables and arrays that the script sets itself.
//
// Source: POSIX.1-2017, Shell Command Language, sections 2.2 to 2.6; bash(1), Arrays. Branches and
// loops are not carried out: each of their commands counts, in the order of the text.
#pragma once

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

/// @throws InputError for a quote that is never closed
std::vector<ShellCommand> shell_commands(std::string_view script, const std::string& file);

}  // namespace highwater
