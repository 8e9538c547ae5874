// What a plan is solved for: --for, --frontier, --margin, --html.
//
// With these a plan is given as `simulate` takes it, its strategy included: plain `plan` chooses
// strategy and batch itself. Only the number of GPUs is also solved over all strategies, where the
// plan names none.
#pragma once

#include <optional>
#include <string>

#include "tools/options/command_line.hpp"
#include "tools/studies/solving/solve_run.hpp"

namespace highwater {

struct SolveQuestion {
  SolveRequest request;
  std::string model;                ///< as given
  std::vector<std::string> notes;   ///< what a reader of the plan's numbers should know
  std::optional<std::string> html;  ///< the page with the picture of the frontier
};

/// Adds them, with the options of a plan and its memory. A file of --from does not set the fields
/// that `arguments` name.
void add_solve_options(OptionParser& parser, const Arguments& arguments);

/// @throws UsageErrors with everything that is wrong, InputError for an unreadable model
SolveQuestion read_solve_question(const boost::program_options::variables_map& values);

/// Whether a command line of `plan` solves for a field.
bool asks_to_solve(const Arguments& arguments);

}  // namespace highwater
