// simulate --from RUN.hwp: a program of `highwater fit` instead of a plan.
#pragma once

#include <optional>
#include <string>

#include "tools/options/command_line.hpp"

namespace highwater {

/// A command line whose only --from names a program.
struct ScaledArguments {
  std::string program;  ///< its file
  Arguments others;     ///< without --from, which has no meaning of a plan here
};

std::optional<ScaledArguments> scaled_arguments(const Arguments& arguments);

/// @throws UsageError for a name of an integer that can be no option, as it is one already
void require_usable(const std::string& integer);

/// `simulate` with the options that the program has: its integers, memory, steps, budgets.
ExitCode run_simulate_scaled(const ScaledArguments& arguments, std::ostream& out);

}  // namespace highwater
