// Runs that differ by chance, each of them a piece of a fleet.
#pragma once

#include <string_view>

#include "sim/chance/ensemble.hpp"
#include "tools/fleet/fleet.hpp"

namespace highwater {

/// Without runs where another process prints the answer. `what` is what is counted, for people.
/// @throws InputError, UsageError
Ensemble run_ensemble(PieceSource& source, const EnsembleOptions& options, Fleet& fleet,
                      std::string_view what = "runs");

/// On the threads of this process.
Ensemble run_ensemble(PieceSource& source, const EnsembleOptions& options);

}  // namespace highwater
