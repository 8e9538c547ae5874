// Broadcasts between ncclGroupStart and ncclGroupEnd.
//
// PyTorch gathers by a group of broadcasts, one from each rank (ProcessGroupNCCL::allgather with a
// list of outputs). The other ranks send what this one sends, so it is known only once the group
// has ended and this rank's own broadcast is among the calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace highwater::fakecuda {

struct Broadcast {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::size_t bytes = 0;
  bool is_own = false;  ///< this rank is the root
};

void start_group();

/// Settles the group's broadcasts; inner groups wait for the outermost.
void end_group();

/// Moves what is known, at once or at the end of the open group.
void broadcast(const Broadcast& call);

}  // namespace highwater::fakecuda
