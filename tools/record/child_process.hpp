// Runs a command in the foreground and waits for it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace highwater {

/// How a process ended.
struct ProcessEnd {
  int status = 0;  ///< exit status; meaningless after a signal
  int signal = 0;  ///< that killed it, or 0
};

enum class ChildOutput {
  inherited,       ///< shares this process's standard output
  to_error_output  ///< its standard output goes to this process's standard error
};

/// Runs `command` (searched for in PATH) with only `environment`. An interrupt from the keyboard
/// reaches the command and not this process; a termination signal is passed on. @throws InputError
/// if it cannot be started
ProcessEnd run_command_line(const std::vector<std::string>& command,
                            const std::map<std::string, std::string>& environment,
                            ChildOutput output);

}  // namespace highwater
