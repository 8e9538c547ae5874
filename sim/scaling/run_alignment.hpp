// Which allocation of one recording is which of another one, at other values of the integers.
//
// Phase by phase, as sim/diff aligns: but sizes differ here, so requests are alike by call stack,
// stream and the phase that frees them, by the block that a free gives back, and by a ratio of
// sizes that the ratio of batches or lengths explains. Where a phase has the same requests on both
// sides they are paired in order, otherwise by the alignment of the highest score (S. Needleman and
// C. Wunsch, "A general method applicable to the search for similarities in the amino acid sequence
// of two proteins", Journal of Molecular Biology 1970).
#pragma once

#include "sim/scaling/monomials.hpp"
#include "sim/scaling/run_side.hpp"

namespace highwater {

/// Pairs the allocations of both: `partners` of each side then name the other's. `points` are the
/// values of the two.
void align_runs(RunSide& first, RunSide& second, const std::vector<Values>& points);

/// Frees of paired blocks that come between other allocations than on the other side.
std::uint64_t reordered_frees(const RunSide& first, const RunSide& second);

}  // namespace highwater
