// Runs the program inside the test and keeps what it printed.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/commands/commands.hpp"
#include "tools/options/command_line.hpp"
#include "tools/program/program.hpp"

namespace highwater {

struct CommandRun {
  ExitCode code = ExitCode::ok;
  std::string out;
  std::string err;
};

CommandRun run(const Arguments& arguments);

/// The words of a command line, separated by spaces; there is no quoting.
Arguments words(const std::string& line);

/// The same for the words of `line`.
CommandRun run_line(const std::string& line);

/// What `line` prints with --format json; a test failure if it does not succeed.
boost::json::object json_of(const std::string& line);

}  // namespace highwater
