// Writes a run anew with its captures of CUDA graphs in other pools, on other streams, in another
// order.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/edits/captures.hpp"
#include "sim/edits/edit.hpp"

namespace highwater {

/// What an edit asks for, with every capture named.
struct Arrangement {
  std::vector<std::size_t> order;
  std::vector<std::vector<std::size_t>> together;  ///< each list shares a new pool
  ArrangeCaptures::Streams streams = ArrangeCaptures::Streams::kept;
};

/// @pre `captures` are those of `run`, at least one, and the arrangement names no others
void write_arranged(Arrangement arrangement, const Captures& captures, EditedRun& run);

}  // namespace highwater
