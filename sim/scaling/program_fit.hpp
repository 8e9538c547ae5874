// Fits one program to a few recordings of it at different values of named integers.
//
// The recording with the largest sizes gives the requests and their order; in each other one
// every request is looked for (run_alignment.hpp), and its sizes become a formula (size_fit.hpp),
// those of workspaces the rule of their kernel (reduction_workspaces.hpp).
// With three recordings or more, the largest is left out at first, and what the others say of it
// is compared with what it shows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/scaling/reduction_workspaces.hpp"
#include "sim/scaling/run_side.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// Requests of one site in one phase that not every recording makes.
struct ChangedSite {
  std::string phase;
  std::size_t run = 0;  ///< whose stack it is
  StackId stack;
  std::vector<std::uint64_t> counts;  ///< by run
  Bytes largest;
};

struct ProgramFit {
  ScalableProgram program;  ///< without peaks and changes
  std::vector<ChangedSite> changes;
  std::uint64_t unexplained_workspaces = 0;  ///< which look like those of reductions
};

/// The index of the recording that asks for the most bytes.
std::size_t largest_run(std::span<const FitRun> runs);

/// @pre two runs or more, all of different values
ProgramFit fit_program(const std::vector<std::string>& integers, std::span<const FitRun> runs,
                       const ReductionWays& ways = {});

/// A comparison, and how much of what differs the program leaves open (HeldOutCheck::unconfirmed).
struct ComparedPoint : FittedPoint {
  std::uint64_t unconfirmed = 0;
};

/// How the program gives `run` again, or foretells it; without peaks.
ComparedPoint compare_with(const ScalableProgram& program, const FitRun& run);

}  // namespace highwater
