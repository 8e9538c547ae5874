// The whole program as a function: arguments in, exit code out.
#pragma once

#include <iosfwd>

#include "tools/options/command_line.hpp"

namespace highwater {

/// Runs the command that `arguments` name; reports go to `out`, one line about what went wrong to
/// `err`. Throws nothing.
ExitCode run_program(const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace highwater
