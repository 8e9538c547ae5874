// A host that runs ahead of its GPU: what is freed while another stream uses it
// (Tensor.record_stream) stays taken until that stream's work is done, so that the peak depends on
// how late the GPU is.
#pragma once

#include <optional>

#include "sim/replay/replay_result.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// A run of which the GPU is so many kernel launches behind the host.
struct LateRun {
  int event_lag = 0;  ///< launches
  Usage peak;
  std::optional<bool> fits;  ///< absent without a limit
};

/// Of a run whose GPU keeps up, and whose requests are `trace`: the one that takes most memory of
/// those with a late GPU. Absent where no block waits for another stream, where the run says how
/// late its GPU is, and where the peak is less than one part in a hundred above `told`.
std::optional<LateRun> with_late_gpu(const PlannedRun& run, const MemoryRequest& memory,
                                     const RequestTrace& trace, const Usage& told);

}  // namespace highwater
