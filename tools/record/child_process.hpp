// Runs a command in the foreground and waits for it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace highwater {

/// How a process ended.
struct ProcessEnd {
  int status = 0;  ///< exit status; of no meaning after a signal
  int signal = 0;  ///< that killed it, or 0
};

enum class ChildOutput {
  inherited,       ///< standard output is ours
  to_error_output  ///< standard output goes to our standard error
};

/// Runs `command` (looked for in PATH) with `environment` alone. An interrupt from the keyboard
/// reaches the command and not us; a termination signal that we get is passed on.
/// @throws InputError when it cannot be started
ProcessEnd run_command_line(const std::vector<std::string>& command,
                            const std::map<std::string, std::string>& environment,
                            ChildOutput output);

}  // namespace highwater
