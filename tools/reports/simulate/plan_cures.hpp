// What a plan that runs out of memory could be changed to, in sentences: recordings are what they
// are, plans are not.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/runs/workload_request.hpp"

namespace highwater {

/// "fits with --batch 1 ...", each simulated; empty for a file, for an edited plan, and for one
/// that fits. `workload` is the request's.
std::vector<std::string> plan_cures(const WorkloadRequest& request, const Workload& workload);

}  // namespace highwater
