// A file or plan as the shortest program that still shows what it shows.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/reduction/reduction.hpp"
#include "tools/studies/runs/workload.hpp"
#include "tools/studies/runs/workload_request.hpp"

namespace highwater {

struct ReduceRequest {
  WorkloadRequest workload;
  WantedProperty wanted;
  std::uint64_t most_operations = 0;  ///< replayed in the search
};

/// How a script bounds the memory of the process that it runs in.
enum class ScriptBound {
  none,      ///< nothing bounds the replay
  fraction,  ///< by torch.cuda.set_per_process_memory_fraction
  device,    ///< by nothing: the property shows only on a device of that size
};

struct ReducedRun {
  Workload workload;
  Reduction reduction;
  ScriptBound bound = ScriptBound::none;
  Bytes most_memory;  ///< of the bound
};

/// The first device of the file that shows what is wanted.
/// @throws InputError, UsageError where none does, with what there is
ReducedRun reduce_run(const ReduceRequest& request);

}  // namespace highwater
