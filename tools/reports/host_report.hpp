// Host memory in the report of `simulate`: the model as each rank makes it, and what offloading
// keeps there beside the GPU's memory.
#pragma once

#include <string_view>
#include <vector>

#include "tools/text/table.hpp"
#include "workloads/eager/host_memory.hpp"

namespace highwater {

struct Simulation;

/// What a rank holds in host memory, and how many ranks share the memory of its node.
struct NodeHostMemory {
  HostPeaks rank;
  std::int64_t ranks = 1;
};

/// The host memory of a simulated rank, on a node of at most 8 GPUs.
NodeHostMemory node_host_memory(const Simulation& simulation);

/// One row for each kind of buffers while the model is trained, largest first, and the sums; no
/// rows if nothing is on the host then.
Table host_table(const HostAccount& training);

/// One row for each part of the run: pinned beside pageable at its peak, of this rank and of the
/// node, whose ranks count as this one; no rows if the host holds nothing.
Table node_host_table(const NodeHostMemory& node);

/// "pinned" or "pageable".
std::string_view host_kind(const HostBuffers& buffers);

/// Host memory at the peak of one part of a run.
struct HostPart {
  std::string_view part;
  std::int64_t pinned = 0;
  std::int64_t pageable = 0;
  std::int64_t rank = 0;  ///< both, of one rank
  std::int64_t node = 0;  ///< of all its ranks
};

std::vector<HostPart> host_parts(const NodeHostMemory& memory);

}  // namespace highwater
