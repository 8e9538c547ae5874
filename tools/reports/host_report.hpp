// Host memory in the report of `simulate`: what offloading keeps there beside the GPU's memory.
#pragma once

#include <boost/json/fwd.hpp>

#include "tools/text/table.hpp"
#include "workloads/eager/host_memory.hpp"

namespace highwater {

/// One row for each kind of buffers, largest first, and the sums; no rows if nothing is offloaded.
Table host_table(const HostAccount& host);

/// All numbers are bytes: requested, taken (pinned blocks rounded up to powers of two), pinned and
/// pageable, and what of the pinned memory is cached.
boost::json::object host_json(const HostAccount& host);

}  // namespace highwater
