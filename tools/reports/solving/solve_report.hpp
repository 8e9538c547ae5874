// What `plan --for` reports: the answer for each field with the next value and all that was tried,
// the plan as a command line of `simulate`, and the frontier of memory against recomputation.
#pragma once

#include <string>

#include "tools/studies/solving/solve_run.hpp"
#include "tools/text/output_format.hpp"
#include "tools/text/table.hpp"

namespace highwater {

struct SolveReport {
  SolveResult result;
  std::string model;  ///< as given: a name or a file
};

std::string solve_report(const SolveReport& report, OutputFormat format);

/// The solved plan, to be simulated.
std::string solved_line(const SolveReport& report);

/// The columns of a row of the frontier.
const Columns<FrontierRow>& frontier_columns();

}  // namespace highwater
