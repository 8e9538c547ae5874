// The whole program where a launcher may have started several of it.
#pragma once

#include <functional>
#include <iosfwd>

#include "tools/options/command_line.hpp"

namespace highwater {

/// run_program(), together with the other processes of an MPI job if there are any and the command
/// shares its work: then only rank 0 writes to `out` and `err`.
ExitCode run_launched_program(const Arguments& arguments, std::ostream& out, std::ostream& err,
                              const std::function<void()>& finish_output);

}  // namespace highwater
