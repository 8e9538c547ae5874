// Whether a plan fits, by simulating as little of it as tells.
//
// A step of many micro-batches repeats itself: after as many as a pipeline has in flight, the next
// allocates what the one before it freed. So a trial has that many, and two steps: the second is
// the first with optimizer states. Stages in the middle of a pipeline hold as much as the second
// with fewer micro-batches in flight, and of shards of unequal size the largest needs most.
#pragma once

#include "tools/studies/memory_request.hpp"
#include "tools/studies/planned_run.hpp"

namespace highwater {

struct MemoryTrial {
  bool fits = false;
  Bytes peak;  ///< most reserved by a rank; up to the failure if it ran out of memory
};

/// How much of the plan is carried out.
enum class TrialExtent {
  enough,  ///< as above
  whole    ///< all micro-batches and steps, and every representative rank
};

/// Whether every rank stays within `limit`, with `memory.capacity` to run in.
/// @pre plan_problems(plan) is empty @throws InputError for what PyTorch itself would refuse
MemoryTrial try_memory(const TrainingPlan& plan, const MemoryRequest& memory, Bytes limit,
                       TrialExtent extent);

}  // namespace highwater
