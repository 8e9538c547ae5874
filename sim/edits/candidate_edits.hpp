// Edits worth trying on a run that takes more memory than it needs: those that programs are mended
// with, where the run has what they change.
#pragma once

#include <string>
#include <vector>

#include "sim/edits/edit.hpp"

namespace highwater {

struct NamedEdit {
  std::string words;  ///< as for --edit
  std::string what;   ///< "empty_cache at the end of each step"
  Edit edit;
  std::uint64_t added = 0;  ///< allocations in front of the run's own
};

/// The most that is alive at once, asked for at the start; empty_cache at the ends of steps; no
/// record_stream; one pool for the captures of CUDA graphs; no workspaces of cuDNN, which depend on
/// the memory format and on what PyTorch lets it choose.
std::vector<NamedEdit> candidate_edits(const RequestTrace& trace, std::size_t older_events);

}  // namespace highwater
