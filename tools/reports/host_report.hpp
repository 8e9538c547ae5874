// Host memory in the report of `simulate`: the model as each rank makes it, and what offloading
// keeps there beside the GPU's memory.
#pragma once

#include <boost/json/fwd.hpp>

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

/// All numbers are bytes: requested, taken (pinned blocks rounded up to powers of two), pinned and
/// pageable, and what of the pinned memory is cached, at the rank's peak while the model is
/// trained; under `node` the ranks that share a node, and the peaks of the parts of the run.
boost::json::object host_json(const NodeHostMemory& node);

}  // namespace highwater
