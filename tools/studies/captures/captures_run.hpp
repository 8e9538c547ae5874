// What the captures of CUDA graphs in a run take in other pools, on other streams, in other orders:
// each arrangement is an edit (ArrangeCaptures) whose result is replayed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/edits/captures.hpp"
#include "tools/studies/runs/workload.hpp"
#include "tools/studies/runs/workload_request.hpp"

namespace highwater {

struct CapturesRequest {
  WorkloadRequest workload;
  std::vector<EditWords> arrangements;  ///< to be tried besides the usual ones
  std::size_t most_orders = 0;          ///< tried in the search for the best one
};

/// The captures arranged as `edit` says.
struct ArrangedRun {
  std::string name;  ///< "one pool, one stream"
  std::string edit;  ///< as one types it
  Usage peak;
  std::uint64_t ooms = 0;
  Bytes graph_pools;   ///< reserved by private pools at the end
  Bytes common_pools;  ///< by the others
};

/// One capture, and what it takes of each kind of pool.
struct CaptureRow {
  Capture capture;
  PoolId pool;
  std::string site;
  Bytes alone;  ///< reserved by a pool of its own
  Bytes added;  ///< by which it makes the shared pool grow, in the recorded order
};

struct CapturesRun {
  Workload workload;
  bool are_marked = false;
  std::vector<CaptureRow> captures;
  std::vector<ArrangedRun> arrangements;  ///< the first: as they were
  std::size_t best = 0;                   ///< of these: the least peak reserved, and at the end
  std::size_t orders_tried = 0;
  bool is_every_order = false;  ///< none is left to try
};

/// One for each device that has captures. @throws InputError where none has; UsageError
std::vector<CapturesRun> captures_run(const CapturesRequest& request);

}  // namespace highwater
