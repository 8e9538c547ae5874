// highwater simulate answers three kinds of questions, each in a file of its own: about a program
// that was fitted to recordings, about lengths that are drawn at random, and about a plan.
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/commands/scaled_command.hpp"
#include "tools/options/chance_options.hpp"

namespace highwater {

ExitCode run_simulate(const Arguments& arguments, std::ostream& out) {
  if (const auto scaled = scaled_arguments(arguments)) {
    return run_simulate_scaled(*scaled, out);
  }
  return asks_about_chance(arguments) ? run_chance(arguments, out)
                                      : run_simulate_plan(arguments, out);
}

}  // namespace highwater
