// The whole program as a function: arguments in, exit code out.
#pragma once

#include <functional>
#include <iosfwd>

#include "tools/options/command_line.hpp"

namespace highwater {

/// Runs the command that `arguments` name; reports go to `out`, one line about what went wrong to
/// `err`. `finish_output`, where given, is called after the last report, and throws Error where it
/// cannot be kept. Throws nothing.
ExitCode run_program(const Arguments& arguments, std::ostream& out, std::ostream& err,
                     const std::function<void()>& finish_output = nullptr);

}  // namespace highwater
